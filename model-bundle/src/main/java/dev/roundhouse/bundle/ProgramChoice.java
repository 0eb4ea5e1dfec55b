package dev.roundhouse.bundle;

import java.util.Map;

/**
 * The files that hold one program.
 *
 * @param general for every platform without its own
 * @param own by platform, as file names call it
 */
record ProgramChoice(ProgramFile general, Map<String, ProgramFile> own) {
  ProgramChoice {
    own = Map.copyOf(own);
  }

  /**
   * @param platform as its plugin calls itself
   */
  ProgramFile on(String platform) {
    return own.getOrDefault(PlatformNames.ofPlugin(platform), general);
  }
}
