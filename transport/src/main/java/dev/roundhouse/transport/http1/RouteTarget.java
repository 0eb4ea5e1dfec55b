package dev.roundhouse.transport.http1;

/** Answers one request: once all of it has arrived, or as it arrives. */
public sealed interface RouteTarget permits RequestHandler, StreamedRequestHandler {}
