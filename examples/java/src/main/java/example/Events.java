package example;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;

/** Follows the events of a shop. */
public final class Events {
    /** Events after the position are gone: read the current state, then follow the events after the position. */
    public static final class LostException extends Exception {
        private static final long serialVersionUID = 1;
        public final String position;

        LostException(String position, String message) {
            super(message);
            this.position = position;
        }
    }

    private final Shop shop;
    private String position;
    private long delay;

    /** Prepares to follow the events after an id: "0" starts with the oldest event. */
    public Events(Shop shop, String after) {
        this.shop = shop;
        this.position = after;
    }

    /**
     * Passes the events, and then new events as they happen, to a consumer until it returns false. It passes each event once, and
     * reconnects when the stream ends. To continue after a restart, store the id of the last event that you have processed.
     *
     * @param query filters such as "subject=pets/7", or ""
     */
    public void follow(String query, Predicate<Shop.Event> consumer) throws IOException, InterruptedException, LostException {
        for (delay = 1000; ; delay = Math.min(2 * delay, 30_000)) {
            HttpRequest request = shop.request("/events?" + query)
                    .header("Accept", "text/event-stream")
                    .header("Last-Event-ID", position)
                    .build();
            try {
                HttpResponse<InputStream> response = shop.http.send(request, BodyHandlers.ofInputStream());
                try (InputStream body = response.body()) {
                    if (response.statusCode() != 200) {
                        throw ApiException.of(response, new String(body.readAllBytes(), StandardCharsets.UTF_8));
                    }
                    if (!read(body, consumer)) {
                        return;
                    }
                }
            } catch (ApiException e) {
                if (!e.isTemporary()) {
                    throw e;
                }
            } catch (IOException e) {
                // The connection broke.
            }
            Thread.sleep(delay + ThreadLocalRandom.current().nextLong(delay));
        }
    }

    /** Reads the messages of one stream of server-sent events. Returns false when the consumer wants no more. */
    private boolean read(InputStream body, Predicate<Shop.Event> consumer) throws IOException, LostException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8));
        try (Watchdog watchdog = new Watchdog(body)) {
            String id = position;
            String name = "";
            StringBuilder data = new StringBuilder();
            for (String line; (line = lines.readLine()) != null; ) {
                watchdog.reset();
                int colon = line.indexOf(':');
                String field = colon < 0 ? line : line.substring(0, colon);
                String value = colon < 0 ? "" : line.substring(colon + 1).replaceFirst("^ ", "");
                switch (field) {
                    case "id" -> id = value;
                    case "event" -> name = value;
                    case "data" -> data.append(data.isEmpty() ? "" : "\n").append(value);
                    default -> {} // a comment, whose field is empty, the end of the message, or something new
                }
                if (!line.isEmpty()) {
                    continue;
                }
                position = id;
                if (name.equals("reset")) {
                    throw new LostException(position, Shop.JSON.readTree(data.toString()).path("message").asText());
                }
                if (!data.isEmpty()) {
                    delay = 1000;
                    if (!consumer.test(Shop.JSON.readValue(data.toString(), Shop.Event.class))) {
                        return false;
                    }
                }
                name = "";
                data.setLength(0);
            }
            return true;
        }
    }
}
