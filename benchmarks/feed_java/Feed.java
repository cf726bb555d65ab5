import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Future;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes each line of its standard input, a key, a tab and a value, to a topic as soon as it comes: {@code Feed SERVERS
 * TOPIC}. It prints "ready" when the broker has the first one, ends with its input when the broker has all of it, and
 * fails at the first record that is refused.
 */
public final class Feed {
    private Feed() {}

    public static void main(String[] arguments) throws Exception {
        StringSerializer text = new StringSerializer();
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "linger.ms", 0);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, text, text);
                BufferedReader lines =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            boolean isFirst = true;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                int tab = line.indexOf('\t');
                Future<RecordMetadata> taken = producer.send(
                        new ProducerRecord<>(arguments[1], line.substring(0, tab), line.substring(tab + 1)),
                        (record, refused) -> {
                            if (refused != null) {
                                System.err.println(refused);
                                Runtime.getRuntime().halt(1);
                            }
                        });
                if (isFirst) {
                    taken.get();
                    System.out.println("ready");
                    isFirst = false;
                }
            }
        }
    }
}
