package dev.roundhouse.gateway.fleet;

import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * Trusts servers whose certificates have one name, whatever host they were found at: the JDK's HTTP
 * client can be told of no other name than the host's. Thread-safe.
 */
final class NamedTrust extends X509ExtendedTrustManager {
  private static final int DNS_NAME = 2;
  private static final int IP_ADDRESS = 7;

  private final X509TrustManager chains;
  private final String name;

  private NamedTrust(X509TrustManager chains, String name) {
    this.chains = chains;
    this.name = name;
  }

  static NamedTrust of(TrustManager[] managers, String name) throws GeneralSecurityException {
    for (TrustManager manager : managers) {
      if (manager instanceof X509TrustManager chains) {
        return new NamedTrust(chains, name);
      }
    }
    throw new GeneralSecurityException("there is nobody to check certificates by");
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String keyType)
      throws CertificateException {
    chains.checkServerTrusted(chain, keyType);
    requireName(chain[0]);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String keyType, Socket socket)
      throws CertificateException {
    checkServerTrusted(chain, keyType);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String keyType, SSLEngine engine)
      throws CertificateException {
    checkServerTrusted(chain, keyType);
  }

  private void requireName(X509Certificate server) throws CertificateException {
    Collection<List<?>> names = server.getSubjectAlternativeNames();
    for (List<?> each : names == null ? List.<List<?>>of() : names) {
      boolean named =
          switch ((Integer) each.get(0)) {
            case DNS_NAME -> matches((String) each.get(1));
            case IP_ADDRESS -> name.equals(each.get(1));
            default -> false;
          };
      if (named) {
        return;
      }
    }
    throw new CertificateException("the certificate is not of '" + name + "'");
  }

  /** RFC 6125: a star stands for the leftmost label, all of it. */
  private boolean matches(String pattern) {
    int dot = name.indexOf('.');
    boolean star = pattern.startsWith("*.") && dot > 0;
    return pattern.equalsIgnoreCase(name)
        || (star && pattern.substring(1).equalsIgnoreCase(name.substring(dot)));
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String keyType)
      throws CertificateException {
    throw new CertificateException("this is a client's");
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String keyType, Socket socket)
      throws CertificateException {
    checkClientTrusted(chain, keyType);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String keyType, SSLEngine engine)
      throws CertificateException {
    checkClientTrusted(chain, keyType);
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return chains.getAcceptedIssuers();
  }
}
