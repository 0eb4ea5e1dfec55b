package dev.roundhouse.gateway;

import dev.roundhouse.platform.logging.LogLinesContract;

class LogLinesTest extends LogLinesContract {}
