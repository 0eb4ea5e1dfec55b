package dev.roundhouse.worker;

import dev.roundhouse.platform.logging.LogLinesContract;

class LogLinesTest extends LogLinesContract {}
