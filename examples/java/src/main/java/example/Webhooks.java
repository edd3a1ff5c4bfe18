package example;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.function.UnaryOperator;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Verifies messages of the service, which are signed as Standard Webhooks 1.0 (www.standardwebhooks.com) says. */
public final class Webhooks {
    private static final Duration TOLERANCE = Duration.ofMinutes(5);

    private Webhooks() {}

    /** The service has not sent the message, or not recently. */
    public static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1;

        RefusedException(String message) {
            super(message);
        }
    }

    /**
     * Returns the event in a message. The service sends a message again if it gets no 2xx response, always with the same
     * webhook-id: process each id once.
     *
     * @param header returns the value of a header, or null
     * @param body the request body as it came
     * @param secrets the secret of the webhook, or the old and the new one while it is rotated
     * @param now the current time
     */
    public static Shop.Event verify(UnaryOperator<String> header, byte[] body, List<String> secrets, Instant now)
            throws RefusedException, GeneralSecurityException, IOException {
        String id = header.apply("webhook-id");
        String sent = header.apply("webhook-timestamp");
        String signatures = header.apply("webhook-signature");
        if (id == null || sent == null || signatures == null || !sent.matches("\\d{1,12}")) {
            throw new RefusedException("the message is not signed");
        }
        if (!isSigned(id + "." + sent + ".", body, signatures.split(" "), secrets)) {
            throw new RefusedException("the message is not signed with a secret of this webhook");
        }
        Duration age = Duration.between(Instant.ofEpochSecond(Long.parseLong(sent)), now);
        if (age.abs().compareTo(TOLERANCE) > 0) {
            throw new RefusedException("the message is too old, or a clock is wrong");
        }
        return Shop.JSON.readValue(body, Shop.Event.class);
    }

    /** Reports whether one of the signatures was made with one of the secrets. */
    private static boolean isSigned(String prefix, byte[] body, String[] signatures, List<String> secrets)
            throws GeneralSecurityException {
        for (String secret : secrets) {
            byte[] key = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
            if (key.length < 24) { // with an empty secret, anybody could sign messages
                throw new GeneralSecurityException("the secret is too short");
            }
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(prefix.getBytes(StandardCharsets.UTF_8));
            byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
            for (String signature : signatures) {
                // String.equals takes longer the more of a forged signature is right, so it would help to guess the rest.
                if (MessageDigest.isEqual(expected, signature.getBytes(StandardCharsets.UTF_8))) {
                    return true;
                }
            }
        }
        return false;
    }
}
