package dev.roundhouse.node;

import dev.roundhouse.platform.logging.LogLinesContract;

class LogLinesTest extends LogLinesContract {}
