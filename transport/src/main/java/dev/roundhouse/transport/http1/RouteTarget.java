package dev.roundhouse.transport.http1;

/** What answers one request: when all of it has come, or as it comes. */
public sealed interface RouteTarget permits RequestHandler, StreamedRequestHandler {}
