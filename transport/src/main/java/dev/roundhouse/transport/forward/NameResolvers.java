package dev.roundhouse.transport.forward;

import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.resolver.InetNameResolver;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;

/**
 * Resolves names through the system on separate threads, since that may take seconds. Thread-safe.
 */
final class NameResolvers extends AddressResolverGroup<InetSocketAddress> {
  static final NameResolvers INSTANCE = new NameResolvers();

  private NameResolvers() {}

  @Override
  protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
    return new OfSystem(executor).asAddressResolver();
  }

  private static final class OfSystem extends InetNameResolver {
    OfSystem(EventExecutor executor) {
      super(executor);
    }

    @Override
    protected void doResolve(String host, Promise<InetAddress> promise) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  promise.trySuccess(InetAddress.getByName(host));
                } catch (UnknownHostException e) {
                  promise.tryFailure(e);
                }
              });
    }

    @Override
    protected void doResolveAll(String host, Promise<List<InetAddress>> promise) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  promise.trySuccess(List.of(InetAddress.getAllByName(host)));
                } catch (UnknownHostException e) {
                  promise.tryFailure(e);
                }
              });
    }
  }
}
