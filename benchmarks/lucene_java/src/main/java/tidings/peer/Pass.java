package tidings.peer;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.lucene.document.Document;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MultiMatchingQueries;
import org.apache.lucene.monitor.QueryMatch;

/** One pass over the posts, batch by batch: how many matches, how many queries were run for them, how long it took. */
record Pass(long matches, long candidates, double wallS, double cpuS) {

  /** Match batch after batch, over and over, for so many seconds. */
  static void warmUp(Monitor monitor, Document[][] batches, double seconds) throws IOException {
    long began = System.nanoTime();
    for (int b = 0; batches.length > 0 && Peer.secondsSince(began) < seconds; b = (b + 1) % batches.length) {
      match(monitor, batches[b]);
    }
  }

  /** The fastest of some passes: what else the machine does only ever makes one slower. */
  static Pass fastest(Monitor monitor, Document[][] batches, int rounds) throws IOException {
    Pass fastest = timed(monitor, batches);
    for (int round = 1; round < rounds; round++) {
      Pass pass = timed(monitor, batches);
      fastest = pass.wallS() < fastest.wallS() ? pass : fastest;
    }
    return fastest;
  }

  private static Pass timed(Monitor monitor, Document[][] batches) throws IOException {
    long matches = 0;
    long candidates = 0;
    long cpuBegan = cpuNanos();
    long began = System.nanoTime();
    for (Document[] batch : batches) {
      MultiMatchingQueries<QueryMatch> found = match(monitor, batch);
      candidates += found.getQueriesRun();
      for (int post = 0; post < batch.length; post++) {
        matches += found.getMatchCount(post);
      }
    }
    double wallS = Peer.secondsSince(began);
    return new Pass(matches, candidates, wallS, (cpuNanos() - cpuBegan) / 1e9);
  }

  /** A pass that is not timed: one line "post query" for each match. */
  static void writePairs(Monitor monitor, Document[][] batches, Path path) throws IOException {
    int first = 0;
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(path))) {
      for (Document[] batch : batches) {
        MultiMatchingQueries<QueryMatch> found = match(monitor, batch);
        for (int post = 0; post < batch.length; post++) {
          for (QueryMatch match : found.getMatches(post)) {
            out.println((first + post) + " " + match.getQueryId());
          }
        }
        first += batch.length;
      }
    }
  }

  private static MultiMatchingQueries<QueryMatch> match(Monitor monitor, Document[] batch) throws IOException {
    MultiMatchingQueries<QueryMatch> found = monitor.match(batch, QueryMatch.SIMPLE_MATCHER);
    if (!found.getErrors().isEmpty()) { // Monitor collects the errors of single queries; a lost match is not a figure
      throw new IOException("queries failed: " + found.getErrors());
    }
    return found;
  }

  private static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }
}
