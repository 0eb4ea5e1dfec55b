package dev.roundhouse.worker.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When the worker says that it is ready.
 *
 * @param strict Ready only while every model is loaded: one that fails, or is loading for the first
 *     time, holds it back. Otherwise ready from when every model of the start is ready or has
 *     failed.
 */
public record ReadinessProperties(@DefaultValue("false") boolean strict) {}
