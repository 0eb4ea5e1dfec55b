package dev.roundhouse.bundle.artifact;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Which functions of a module refer to which, to find one that reaches itself. */
final class CallGraph {
  private final Map<String, Set<String>> callees = new LinkedHashMap<>();

  /** False when the function is already there. */
  boolean addFunction(String function) {
    return callees.putIfAbsent(function, new LinkedHashSet<>()) == null;
  }

  void addCall(String caller, String callee) {
    callees.computeIfAbsent(caller, _ -> new LinkedHashSet<>()).add(callee);
  }

  /** A chain of functions whose last calls its first; found without recursion of our own. */
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

  private Iterator<String> calleesOf(String function) {
    return callees.getOrDefault(function, Set.of()).iterator();
  }
}
