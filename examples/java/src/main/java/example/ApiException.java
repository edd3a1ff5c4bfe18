package example;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Set;

/** An error response of the service. Programs use its code; the message is for humans. */
public final class ApiException extends IOException {
    private static final long serialVersionUID = 1;

    /** The body of an error response. */
    record Error(String code, String message, int status) {}

    private final String code;
    private final int status;
    private final Duration retryAfter;

    private ApiException(Error error, Duration retryAfter) {
        super(error.message());
        this.code = error.code();
        this.status = error.status();
        this.retryAfter = retryAfter;
    }

    static ApiException of(HttpResponse<?> response, String body) {
        Error error;
        try {
            error = Shop.JSON.readValue(body, Error.class);
        } catch (JsonProcessingException e) { // a proxy may have sent the response
            int status = response.statusCode();
            error = new Error("", "The response has the status " + status + ".", status);
        }
        String retryAfter = response.headers().firstValue("Retry-After").filter(text -> text.matches("\\d{1,9}")).orElse("0");
        return new ApiException(error, Duration.ofSeconds(Long.parseLong(retryAfter)));
    }

    public String code() {
        return code;
    }

    public int status() {
        return status;
    }

    Duration retryAfter() {
        return retryAfter;
    }

    /** Reports whether the same request may succeed later. */
    boolean isTemporary() {
        return Set.of(429, 502, 503, 504).contains(status) || code.equals("idempotency_key_in_use");
    }
}
