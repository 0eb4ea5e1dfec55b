package dev.roundhouse.gateway.fleet;

import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/** The authorities trusted for workers' certificates: those of the newest bundle. Thread-safe. */
public final class CurrentTrust extends X509ExtendedTrustManager {
  private volatile X509ExtendedTrustManager current;

  /**
   * @throws GeneralSecurityException when there is nothing of use in it
   */
  public CurrentTrust(TrustManagerFactory trusted) throws GeneralSecurityException {
    current = of(trusted);
  }

  /**
   * Trusts others from now on.
   *
   * @throws GeneralSecurityException when there is nothing of use in it; those before stay
   */
  public void use(TrustManagerFactory renewed) throws GeneralSecurityException {
    current = of(renewed);
  }

  private static X509ExtendedTrustManager of(TrustManagerFactory trusted)
      throws GeneralSecurityException {
    for (TrustManager each : trusted.getTrustManagers()) {
      if (each instanceof X509ExtendedTrustManager known) {
        return known;
      }
    }
    throw new GeneralSecurityException("there is nobody to check certificates by");
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String keyType)
      throws CertificateException {
    current.checkServerTrusted(chain, keyType);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String keyType, Socket socket)
      throws CertificateException {
    current.checkServerTrusted(chain, keyType, socket);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String keyType, SSLEngine engine)
      throws CertificateException {
    current.checkServerTrusted(chain, keyType, engine);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String keyType)
      throws CertificateException {
    current.checkClientTrusted(chain, keyType);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String keyType, Socket socket)
      throws CertificateException {
    current.checkClientTrusted(chain, keyType, socket);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String keyType, SSLEngine engine)
      throws CertificateException {
    current.checkClientTrusted(chain, keyType, engine);
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return current.getAcceptedIssuers();
  }
}
