package tidings.kafka;

import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;

/**
 * One Kafka broker that is its own controller: {@code Broker PROPERTIES CLUSTER_ID}.
 *
 * It formats its folder if need be, prints the line "ready" once it serves, and ends when its standard input does. So
 * it cannot outlive the process that started it, however that one ends.
 */
public final class Broker {
    private static final long PATIENCE_S = 20;

    private Broker() {}

    public static void main(String[] arguments) throws Exception {
        endWithInput();
        String[] format = {"format", "--config", arguments[0], "--cluster-id", arguments[1], "--ignore-formatted"};
        if (StorageTool.execute(format, System.err) != 0) {
            System.exit(1);
        }
        KafkaConfig config = KafkaConfig.fromProps(Utils.loadProps(arguments[0]));
        KafkaRaftServer server = new KafkaRaftServer(config, Time.SYSTEM);
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        try {
            server.startup();
        } catch (Throwable failed) {
            failed.printStackTrace();
            Runtime.getRuntime().halt(1); // threads of what has started already would keep it alive
        }
        System.out.println("ready");
        server.awaitShutdown();
    }

    private static void endWithInput() {
        Thread watcher = new Thread(() -> {
            try {
                System.in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException broken) {
                // as good as its end
            }
            CompletableFuture.delayedExecutor(PATIENCE_S, TimeUnit.SECONDS)
                    .execute(() -> Runtime.getRuntime().halt(1));
            System.exit(0);
        });
        watcher.setDaemon(true);
        watcher.start();
    }
}
