package tidings.peer;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** What was asked for on the command line, as {@code name=value}. */
record Options(Mode mode, Path queries, Path posts, int batch, int passes, double warmupS, int rounds, Path pairs) {
  static Options of(String[] arguments) {
    Map<String, String> given = new HashMap<>();
    for (String argument : arguments) {
      String[] sides = argument.split("=", 2);
      given.put(sides[0], sides[1]);
    }
    return new Options(
        Mode.valueOf(given.get("mode").toUpperCase(Locale.ROOT)),
        Path.of(given.get("queries")),
        Path.of(given.get("posts")),
        Integer.parseInt(given.get("batch")),
        Integer.parseInt(given.get("passes")),
        Double.parseDouble(given.get("warmup_s")),
        Integer.parseInt(given.get("rounds")),
        given.containsKey("pairs") ? Path.of(given.get("pairs")) : null);
  }
}
