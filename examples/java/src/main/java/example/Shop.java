package example;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A client of a service at a base URL, which ends in /v1. */
public final class Shop {
    public record NewPet(String name, long categoryId, String status) {}

    /** An animal. Its status is null if it has none. */
    public record Pet(long id, String name, long categoryId, String status) {}

    public record NewOrder(long petId, String reference) {}

    public record Order(long id, long petId, String status, String reference) {}

    public record Webhook(long id, String url, String secret) {}

    /** A change. What current and previous are depends on the type. */
    public record Event(String id, String type, String subject, Data data) {
        public record Data(JsonNode current, JsonNode previous) {}
    }

    /** JSON without members that are null, and open to members that later versions of the service add. */
    static final ObjectMapper JSON = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .defaultPropertyInclusion(JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.NON_NULL))
            .build();

    private static final int ATTEMPTS = 5;
    private static final Pattern NEXT = Pattern.compile("<([^>]*)>; rel=\"next\"");

    final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
    private final String url;
    private final String key;

    public Shop(String url, String key) {
        this.url = url;
        this.key = key;
    }

    /** Starts a request for a path, or for a URL from a Link header. */
    HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(path.startsWith("/") ? url + path : path))
                .timeout(Duration.ofSeconds(30))
                .header("Authorization", "Bearer " + key);
    }

    /** Sends a POST that takes effect once, however often it is sent. */
    public <T> T post(String path, Object body, Class<T> type) throws IOException, InterruptedException {
        return post(path, body, type, UUID.randomUUID().toString());
    }

    /** Sends a POST with a key of your own, so that you can repeat it even after a crash. */
    public <T> T post(String path, Object body, Class<T> type, String idempotencyKey) throws IOException, InterruptedException {
        HttpRequest request = withBody("POST", path, body).header("Idempotency-Key", idempotencyKey).build();
        return JSON.readValue(send(request, true).body(), type);
    }

    /** Changes the members of a resource that body has. */
    public <T> T patch(String path, Object body, Class<T> type) throws IOException, InterruptedException {
        return JSON.readValue(send(withBody("PATCH", path, body).build(), false).body(), type);
    }

    public void delete(String path) throws IOException, InterruptedException {
        send(request(path).DELETE().build(), false);
    }

    /** Passes the items of a list to a consumer and fetches its pages as needed. */
    public <T> void list(String path, Class<T> type, Consumer<T> consumer) throws IOException, InterruptedException {
        for (String page = path; page != null; ) {
            HttpResponse<String> response = send(request(page).build(), true);
            for (JsonNode item : JSON.readTree(response.body())) {
                consumer.accept(JSON.treeToValue(item, type));
            }
            Matcher next = NEXT.matcher(response.headers().firstValue("Link").orElse(""));
            page = next.find() ? next.group(1) : null;
        }
    }

    private HttpRequest.Builder withBody(String method, String path, Object body) throws IOException {
        return request(path)
                .header("Content-Type", "application/json")
                .method(method, BodyPublishers.ofString(JSON.writeValueAsString(body)));
    }

    /**
     * Sends a request until there is a response that settles it. It repeats the request only if that is safe: a GET, a POST with
     * an Idempotency-Key, or one that was not processed.
     */
    private HttpResponse<String> send(HttpRequest request, boolean repeatable) throws IOException, InterruptedException {
        for (int attempt = 1; ; attempt++) {
            // Random, so that clients do not return all at the same time.
            Duration wait = Duration.ofMillis(ThreadLocalRandom.current().nextLong(250L << attempt));
            try {
                HttpResponse<String> response = http.send(request, BodyHandlers.ofString());
                if (response.statusCode() < 300) {
                    return response;
                }
                throw ApiException.of(response, response.body());
            } catch (ApiException e) {
                if (attempt == ATTEMPTS || !e.isTemporary() || !(repeatable || e.status() == 429)) {
                    throw e;
                }
                wait = wait.plus(e.retryAfter());
            } catch (IOException e) { // no response: the service may have processed the request
                if (attempt == ATTEMPTS || !repeatable) {
                    throw e;
                }
            }
            Thread.sleep(wait.toMillis());
        }
    }
}
