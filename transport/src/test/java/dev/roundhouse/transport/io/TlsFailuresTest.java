package dev.roundhouse.transport.io;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.NotSslRecordException;
import java.io.IOException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

class TlsFailuresTest {
  @Test
  void shouldSayWhatIsWrong() {
    assertThat(TlsFailures.reason(new DecoderException(new NotSslRecordException("504f5354"))))
        .isEqualTo("it does not speak TLS");
    assertThat(TlsFailures.reason(new DecoderException(new SSLHandshakeException("no path"))))
        .isEqualTo("TLS: no path");
    assertThat(TlsFailures.reason(new SSLHandshakeException("no path"))).isEqualTo("TLS: no path");
  }

  @Test
  void shouldLeaveOtherFailuresAlone() {
    assertThat(TlsFailures.reason(new IOException("reset"))).isNull();
    assertThat(TlsFailures.reason(new DecoderException(new IOException("reset")))).isNull();
  }
}
