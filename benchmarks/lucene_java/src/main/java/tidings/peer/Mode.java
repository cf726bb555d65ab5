package tidings.peer;

import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.LatLonPoint;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;

/** What a line says. Its columns are divided by tabs; every column after those named here is a term. */
enum Mode {
  /** Query: terms, all required. Post: terms. */
  WORDS {
    @Override
    Query query(String line) {
      return all(terms(line, 0));
    }

    @Override
    Document post(String line) {
      return document(line, 0);
    }

    @Override
    Stream<String> postTerms(String line) {
      return terms(line, 0);
    }
  },

  /** Query: west, south, east, north, "all" or "any", terms (or none). Post: lon, lat, terms. */
  BOXES {
    @Override
    Query query(String line) {
      String[] column = line.split("\t", 6);
      Query box =
          LatLonPoint.newBoxQuery(PLACE, number(column[1]), number(column[3]), number(column[0]), number(column[2]));
      return column[4].equals("any") ? all(Stream.of(), any(terms(line, 5)), box) : all(terms(line, 5), box);
    }

    @Override
    Document post(String line) {
      String[] column = line.split("\t", 3);
      Document document = document(line, 2);
      document.add(new LatLonPoint(PLACE, number(column[1]), number(column[0])));
      return document;
    }

    @Override
    Stream<String> postTerms(String line) {
      return terms(line, 2);
    }
  },

  /** Query: comparison ("volume > 300000" or nothing), terms. Post: numbers ("volume=300000 low=31.5"), terms. */
  STOCK {
    @Override
    Query query(String line) {
      String comparison = line.split("\t", 2)[0];
      return comparison.isEmpty() ? all(terms(line, 1)) : all(terms(line, 1), range(comparison.split(" ")));
    }

    @Override
    Document post(String line) {
      Document document = document(line, 1);
      String numbers = line.split("\t", 2)[0];
      for (String assigned : numbers.isEmpty() ? new String[0] : numbers.split(" ")) {
        String[] sides = assigned.split("=");
        document.add(new DoublePoint(sides[0], number(sides[1])));
      }
      return document;
    }

    @Override
    Stream<String> postTerms(String line) {
      return terms(line, 1);
    }
  };

  private static final String TERM = "term";
  private static final String PLACE = "place";
  private static final FieldType PRESENCE = new FieldType();

  static {
    PRESENCE.setIndexOptions(IndexOptions.DOCS);
    PRESENCE.setTokenized(true);
    PRESENCE.setOmitNorms(true);
    PRESENCE.freeze();
  }

  abstract Query query(String line);

  abstract Document post(String line);

  abstract Stream<String> postTerms(String line);

  private static Stream<String> terms(String line, int from) {
    return Arrays.stream(line.split("\t")).skip(from).filter(term -> !term.isEmpty());
  }

  private static Document document(String line, int from) {
    Document document = new Document();
    document.add(new Field(TERM, String.join("\t", terms(line, from).toList()), PRESENCE));
    return document;
  }

  /** All of the terms and of the other queries. FILTER is MUST without a score, which nobody asks for here. */
  private static Query all(Stream<String> terms, Query... others) {
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    terms.forEach(term -> builder.add(new TermQuery(new Term(TERM, term)), Occur.FILTER));
    for (Query other : others) {
      builder.add(other, Occur.FILTER);
    }
    return builder.build();
  }

  private static Query any(Stream<String> terms) {
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    terms.forEach(term -> builder.add(new TermQuery(new Term(TERM, term)), Occur.SHOULD));
    return builder.build();
  }

  private static Query range(String[] comparison) {
    String attribute = comparison[0];
    double bound = number(comparison[2]);
    return switch (comparison[1]) {
      case ">" -> DoublePoint.newRangeQuery(attribute, Math.nextUp(bound), Double.POSITIVE_INFINITY);
      case ">=" -> DoublePoint.newRangeQuery(attribute, bound, Double.POSITIVE_INFINITY);
      case "<" -> DoublePoint.newRangeQuery(attribute, Double.NEGATIVE_INFINITY, Math.nextDown(bound));
      case "<=" -> DoublePoint.newRangeQuery(attribute, Double.NEGATIVE_INFINITY, bound);
      default -> throw new IllegalArgumentException("not a comparison: " + comparison[1]);
    };
  }

  private static double number(String text) {
    return Double.parseDouble(text);
  }
}
