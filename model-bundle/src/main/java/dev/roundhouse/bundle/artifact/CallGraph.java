package dev.roundhouse.bundle.artifact;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which functions of a module refer to which, to find recursion, and the module's size once every
 * call is inlined, as XLA does.
 */
final class CallGraph {
  private final Map<String, Set<String>> callees = new LinkedHashMap<>();
  private final Map<String, Map<String, Long>> calls = new HashMap<>();
  private final Map<String, Long> operations = new HashMap<>();

  /** False when the function is already there. */
  boolean addFunction(String function) {
    return callees.putIfAbsent(function, new LinkedHashSet<>()) == null;
  }

  void addCall(String caller, String callee) {
    callees.computeIfAbsent(caller, _ -> new LinkedHashSet<>()).add(callee);
    calls.computeIfAbsent(caller, _ -> new HashMap<>()).merge(callee, 1L, Long::sum);
  }

  void addOperation(String function) {
    operations.merge(function, 1L, Long::sum);
  }

  /** Operations that are written down. */
  long written() {
    return operations.values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * Operations of a function with every call inlined; at most {@link Long#MAX_VALUE}. Only of a
   * module without a cycle.
   */
  long inlined(String root) {
    Map<String, Long> sizes = new HashMap<>();
    Deque<String> pending = new ArrayDeque<>();
    pending.push(root);
    while (!pending.isEmpty()) {
      String function = pending.peek();
      List<String> unknown =
          callees.getOrDefault(function, Set.of()).stream()
              .filter(callee -> !sizes.containsKey(callee))
              .toList();
      if (!unknown.isEmpty()) {
        unknown.forEach(pending::push);
        continue;
      }
      pending.pop();
      long size = operations.getOrDefault(function, 0L);
      for (Map.Entry<String, Long> call : calls.getOrDefault(function, Map.of()).entrySet()) {
        size = plus(size, times(call.getValue(), sizes.getOrDefault(call.getKey(), 0L)));
      }
      sizes.put(function, size);
    }
    return sizes.getOrDefault(root, 0L);
  }

  private static long plus(long one, long other) {
    return one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other;
  }

  private static long times(long one, long other) {
    return Math.multiplyHigh(one, other) != 0 || one * other < 0 ? Long.MAX_VALUE : one * other;
  }

  /** A chain of functions whose last calls its first; found without recursing here. */
  Optional<List<String>> cycle() {
    Set<String> finished = new HashSet<>();
    for (String root : callees.keySet()) {
      if (finished.contains(root)) {
        continue;
      }
      LinkedHashSet<String> path = new LinkedHashSet<>();
      Deque<Iterator<String>> pending = new ArrayDeque<>();
      path.add(root);
      pending.push(calleesOf(root));
      while (!pending.isEmpty()) {
        if (!pending.peek().hasNext()) {
          pending.pop();
          finished.add(path.removeLast());
          continue;
        }
        String callee = pending.peek().next();
        if (path.contains(callee)) {
          List<String> chain = new ArrayList<>(path);
          return Optional.of(chain.subList(chain.indexOf(callee), chain.size()));
        }
        if (!finished.contains(callee)) {
          path.add(callee);
          pending.push(calleesOf(callee));
        }
      }
    }
    return Optional.empty();
  }

  /** Why a module with this cycle is refused. */
  static String recursion(List<String> cycle) {
    return "function @"
        + String.join(" calls @", cycle)
        + " calls @"
        + cycle.getFirst()
        + ": recursion crashes XLA and is refused";
  }

  private Iterator<String> calleesOf(String function) {
    return callees.getOrDefault(function, Set.of()).iterator();
  }
}
