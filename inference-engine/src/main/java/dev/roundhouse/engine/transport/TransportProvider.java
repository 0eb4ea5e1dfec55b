package dev.roundhouse.engine.transport;

/**
 * Makes a transport. Found by {@link java.util.ServiceLoader}: on the class path, and in the jars
 * of the folder that the operator names. It needs a public constructor without parameters, which
 * does nothing: it is called whether the transport is switched on or not.
 */
public interface TransportProvider {

  /**
   * The transport's name, by which its settings are found: lower-case letters, digits and {@code
   * -}, beginning with a letter. One that another transport has is refused.
   */
  String name();

  /**
   * Makes the transport, which has not started: reads its settings and makes its meters. Called
   * once, and only when the operator has switched it on. No port is bound and no thread started
   * here.
   *
   * @throws IllegalArgumentException when a setting makes no sense; says which and what to write
   */
  Transport open(TransportContext context);
}
