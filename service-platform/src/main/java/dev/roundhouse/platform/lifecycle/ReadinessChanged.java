package dev.roundhouse.platform.lifecycle;

/** Published on the thread that noticed that the application is ready, or not any more. */
public record ReadinessChanged(boolean ready) {}
