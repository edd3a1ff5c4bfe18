package example;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Closes a stream of events that has been silent for 45 seconds. The service sends at least a comment every 15 seconds, so the
 * connection is dead; java.net.http has no timeout for that.
 */
final class Watchdog implements AutoCloseable {
    private static final ScheduledExecutorService TIMER = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "watchdog");
        thread.setDaemon(true);
        return thread;
    });

    private final InputStream stream;
    private ScheduledFuture<?> pending;

    Watchdog(InputStream stream) {
        this.stream = stream;
        reset();
    }

    void reset() {
        close();
        pending = TIMER.schedule(this::closeStream, 45, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        if (pending != null) {
            pending.cancel(false);
        }
    }

    private void closeStream() {
        try {
            stream.close();
        } catch (IOException e) {
            // Nobody reads the stream any more.
        }
    }
}
