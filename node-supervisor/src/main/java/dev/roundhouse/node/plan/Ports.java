package dev.roundhouse.node.plan;

/** Ports of one process. */
public record Ports(int grpc, int http, int metrics) {}
