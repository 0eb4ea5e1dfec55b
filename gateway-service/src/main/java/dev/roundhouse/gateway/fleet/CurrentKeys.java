package dev.roundhouse.gateway.fleet;

import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;

/**
 * The gateway's certificate for workers: that of the newest bundle, at each handshake. Clients
 * never change their key manager, so this one changes its keys. Thread-safe.
 */
public final class CurrentKeys extends X509ExtendedKeyManager {
  private volatile X509ExtendedKeyManager current;

  /**
   * @throws GeneralSecurityException when it has no usable key
   */
  public CurrentKeys(KeyManagerFactory keys) throws GeneralSecurityException {
    current = of(keys);
  }

  /**
   * Uses another certificate from now on.
   *
   * @throws GeneralSecurityException when it has no usable key; the previous one stays
   */
  public void use(KeyManagerFactory renewed) throws GeneralSecurityException {
    current = of(renewed);
  }

  private static X509ExtendedKeyManager of(KeyManagerFactory keys) throws GeneralSecurityException {
    for (KeyManager each : keys.getKeyManagers()) {
      if (each instanceof X509ExtendedKeyManager known) {
        return known;
      }
    }
    throw new GeneralSecurityException("there is nobody to show certificates");
  }

  @Override
  public String @Nullable [] getClientAliases(String keyType, Principal @Nullable [] issuers) {
    return current.getClientAliases(keyType, issuers);
  }

  @Override
  public @Nullable String chooseClientAlias(
      String[] keyTypes, Principal @Nullable [] issuers, @Nullable Socket socket) {
    return current.chooseClientAlias(keyTypes, issuers, socket);
  }

  @Override
  public @Nullable String chooseEngineClientAlias(
      String[] keyTypes, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
    return current.chooseEngineClientAlias(keyTypes, issuers, engine);
  }

  @Override
  public String @Nullable [] getServerAliases(String keyType, Principal @Nullable [] issuers) {
    return current.getServerAliases(keyType, issuers);
  }

  @Override
  public @Nullable String chooseServerAlias(
      String keyType, Principal @Nullable [] issuers, @Nullable Socket socket) {
    return current.chooseServerAlias(keyType, issuers, socket);
  }

  @Override
  public X509Certificate @Nullable [] getCertificateChain(String alias) {
    return current.getCertificateChain(alias);
  }

  @Override
  public @Nullable PrivateKey getPrivateKey(String alias) {
    return current.getPrivateKey(alias);
  }
}
