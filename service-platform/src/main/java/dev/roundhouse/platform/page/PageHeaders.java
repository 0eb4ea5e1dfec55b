package dev.roundhouse.platform.page;

import jakarta.servlet.http.HttpServletResponse;

/** What a browser is to hold the page to. */
final class PageHeaders {
  /** Scripts, styles and events of this port only, none inside the page's text. */
  static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
          + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private PageHeaders() {}

  static void add(HttpServletResponse response) {
    response.setHeader("Content-Security-Policy", POLICY);
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setHeader("Referrer-Policy", "no-referrer");
    response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
    response.setHeader("Cache-Control", "no-store"); // a worker's next version may have others
  }
}
