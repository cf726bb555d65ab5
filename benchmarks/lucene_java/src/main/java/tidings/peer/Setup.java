package tidings.peer;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.util.CharTokenizer;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorConfiguration;
import org.apache.lucene.monitor.MultipassTermFilteredPresearcher;
import org.apache.lucene.monitor.Presearcher;
import org.apache.lucene.monitor.TermFilteredPresearcher;
import org.apache.lucene.monitor.TermWeightor;
import org.apache.lucene.search.IndexSearcher;

/** Monitor as it comes, or the fastest sensible one that we found: in memory, no query cache, rarest terms first. */
final class Setup {
  private static final int LONGEST_TERM = 8000;

  private Setup() {}

  /** With 0 passes, as it comes. */
  static Monitor monitor(int passes, Map<String, Integer> frequencies) throws IOException {
    if (passes == 0) {
      return new Monitor(new TabAnalyzer());
    }
    IndexSearcher.setDefaultQueryCache(null); // indexes of one post never profit from it, and each query pays for it
    MonitorConfiguration configuration = new MonitorConfiguration();
    configuration.setPurgeFrequency(1, TimeUnit.DAYS); // nothing is purged while we measure
    return new Monitor(new TabAnalyzer(), presearcher(passes, frequencies), configuration);
  }

  private static Presearcher presearcher(int passes, Map<String, Integer> frequencies) {
    TermWeightor rarest = term -> 1.0 / (1 + frequencies.getOrDefault(term.text(), 0));
    return passes == 1
        ? new TermFilteredPresearcher(rarest, List.of(), Set.of())
        : new MultipassTermFilteredPresearcher(passes, 0, rarest, List.of(), Set.of());
  }

  /** Cuts at tabs and nowhere else: the terms come analysed. */
  private static final class TabAnalyzer extends Analyzer {
    @Override
    protected TokenStreamComponents createComponents(String field) {
      return new TokenStreamComponents(
          new CharTokenizer(TokenStream.DEFAULT_TOKEN_ATTRIBUTE_FACTORY, LONGEST_TERM) {
            @Override
            protected boolean isTokenChar(int c) {
              return c != '\t';
            }
          });
    }
  }
}
