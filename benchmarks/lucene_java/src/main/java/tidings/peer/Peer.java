package tidings.peer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.lucene.document.Document;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorQuery;

/**
 * How many posts a second does Lucene Monitor match against these queries?
 *
 * <p>Reads one query and one post a line (see {@link Mode} for the formats), registers the queries, warms up, then times
 * passes over all posts on one thread and prints the figures of the fastest as JSON. Queries and posts are named by their line, from
 * 0. The documents are made beforehand; what Monitor does with a document in {@code match} (analysing and indexing it,
 * looking for candidates, running them) is what is timed.
 */
public final class Peer {
  private Peer() {}

  public static void main(String[] arguments) throws IOException {
    Options options = Options.of(arguments);
    List<String> queryLines = Files.readAllLines(options.queries(), StandardCharsets.UTF_8);
    List<String> postLines = Files.readAllLines(options.posts(), StandardCharsets.UTF_8);
    List<MonitorQuery> queries = queries(options.mode(), queryLines);
    Document[][] batches = batches(options, postLines);
    Map<String, Integer> frequencies = frequencies(options.mode(), postLines);

    try (Monitor monitor = Setup.monitor(options.passes(), frequencies)) {
      long began = System.nanoTime();
      monitor.register(queries);
      double registrationS = secondsSince(began);

      Pass.warmUp(monitor, batches, options.warmupS());
      Pass pass = Pass.fastest(monitor, batches, options.rounds());
      if (options.pairs() != null) {
        Pass.writePairs(monitor, batches, options.pairs());
      }
      System.out.println(json(queries.size(), postLines.size(), registrationS, pass));
    }
  }

  private static List<MonitorQuery> queries(Mode mode, List<String> lines) {
    List<MonitorQuery> queries = new ArrayList<>(lines.size());
    for (String line : lines) {
      queries.add(new MonitorQuery(Integer.toString(queries.size()), mode.query(line)));
    }
    return queries;
  }

  private static Document[][] batches(Options options, List<String> lines) {
    int size = options.batch();
    Document[][] batches = new Document[(lines.size() + size - 1) / size][];
    for (int b = 0; b < batches.length; b++) {
      List<String> part = lines.subList(b * size, Math.min(lines.size(), (b + 1) * size));
      batches[b] = part.stream().map(options.mode()::post).toArray(Document[]::new);
    }
    return batches;
  }

  /** In how many posts each term occurs: Lucene is told, so that it can file a query under its rarest term. */
  private static Map<String, Integer> frequencies(Mode mode, List<String> lines) {
    Map<String, Integer> frequencies = new HashMap<>();
    for (String line : lines) {
      mode.postTerms(line).distinct().forEach(term -> frequencies.merge(term, 1, Integer::sum));
    }
    return frequencies;
  }

  private static String json(int queries, int posts, double registrationS, Pass pass) {
    return String.format(
        Locale.ROOT,
        "{\"lucene\": \"%s\", \"queries\": %d, \"posts\": %d, \"matches\": %d, \"candidates\": %d,"
            + " \"registration_s\": %.6f, \"matching_s\": %.6f, \"matching_cpu_s\": %.6f, \"posts_per_s\": %.3f}",
        Monitor.class.getPackage().getImplementationVersion().split(" ")[0],
        queries,
        posts,
        pass.matches(),
        pass.candidates(),
        registrationS,
        pass.wallS(),
        pass.cpuS(),
        posts / pass.wallS());
  }

  static double secondsSince(long began) {
    return (System.nanoTime() - began) / 1e9;
  }
}
