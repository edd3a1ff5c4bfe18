package example;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import example.Shop.NewOrder;
import example.Shop.NewPet;
import example.Shop.Order;
import example.Shop.Pet;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.UnaryOperator;

/** A short tour: list the available animals, add one, order it, follow the events, and receive a webhook. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        String key = System.getenv("ANIMALSTORE_KEY");
        if (key == null) {
            System.err.println("Set ANIMALSTORE_KEY to an API key.");
            System.exit(2);
        }
        Shop shop = new Shop(System.getenv().getOrDefault("ANIMALSTORE_URL", "http://127.0.0.1:8080/v1"), key);

        List<Pet> available = new ArrayList<>();
        shop.list("/pets?status=available&limit=20", Pet.class, available::add);
        available.stream().limit(3).forEach(pet -> System.out.printf("%d: %s%n", pet.id(), pet.name()));
        System.out.printf("%d animals are available.%n", available.size());

        Pet rex = shop.post("/pets", new NewPet("Rex, Beagle", 1, "available"), Pet.class);
        System.out.printf("%s arrived and is %s.%n", rex.name(), rex.status());

        order(shop, rex);

        Pet bella = shop.post("/pets", new NewPet("Bella", 9007199254740993L, null), Pet.class);
        shop.list("/pets?id=" + bella.id() + "&categoryId=" + bella.categoryId(), Pet.class, pet ->
                System.out.printf("%s is in category %d.%n", pet.name(), pet.categoryId()));

        // Everything that has happened to the animal, and then whatever happens next.
        new Events(shop, "0").follow("subject=pets/" + rex.id(), event -> {
            String status = event.data().current().path("status").asText();
            System.out.printf("event %s: %s%n", event.type(), status);
            return !(event.type().equals("pet.updated") && status.equals("available"));
        });

        receiveWebhook(shop, rex);
    }

    /** Orders an animal, in vain a second time, and cancels the order. */
    private static void order(Shop shop, Pet rex) throws IOException, InterruptedException {
        String key = UUID.randomUUID().toString();
        Order order = shop.post("/store/orders", new NewOrder(rex.id(), "Family Okafor"), Order.class, key);
        Order again = shop.post("/store/orders", new NewOrder(rex.id(), "Family Okafor"), Order.class, key);
        System.out.printf("The order is %s; repeating the request returns %s order.%n",
                order.status(), again.id() == order.id() ? "the same" : "another");

        try { // another customer wants the same animal
            shop.post("/store/orders", new NewOrder(rex.id(), null), Order.class);
        } catch (ApiException e) {
            if (!e.code().equals("pet_not_available")) {
                throw e;
            }
            System.out.printf("Too late: %s%n", e.getMessage());
        }

        try {
            shop.post("/pets", new NewPet("", 1, null), Pet.class);
        } catch (ApiException e) {
            System.out.printf("%d %s: %s%n", e.status(), e.code(), e.getMessage());
        }

        shop.patch("/store/orders/" + order.id(), Map.of("status", "cancelled"), Order.class);
    }

    /** A message that was verified. */
    private record Message(Shop.Event event, UnaryOperator<String> header, byte[] body) {}

    /** Receives a message, rotates the secret, and receives a message that is signed with both secrets. */
    private static void receiveWebhook(Shop shop, Pet rex) throws Exception {
        BlockingQueue<Message> received = new LinkedBlockingQueue<>();
        List<String> secrets = new CopyOnWriteArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> receive(exchange, secrets, received));
        server.start();
        // The service sends messages to a private address only if it runs with --webhook-allow-private.
        String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
        Shop.Webhook hook = shop.post("/webhooks", Map.of("url", url, "types", List.of("pet.updated")), Shop.Webhook.class);
        try {
            secrets.add(hook.secret()); // shown only here
            shop.patch("/pets/" + rex.id(), Map.of("name", "Rexina, Beagle"), Pet.class);
            Message first = received.take();
            System.out.printf("webhook %s: %s%n", first.event().type(), first.event().data().current().path("name").asText());

            Map<String, Integer> overlap = Map.of("overlapSeconds", 3600);
            secrets.add(shop.post("/webhooks/" + hook.id() + "/rotate", overlap, Shop.Webhook.class).secret());
            shop.patch("/pets/" + rex.id(), Map.of("name", "Rex, Beagle"), Pet.class);
            Message both = received.take();
            for (String secret : secrets) { // a receiver that knows only one of them works, too
                Webhooks.verify(both.header(), both.body(), List.of(secret), Instant.now());
            }
            int signatures = both.header().apply("webhook-signature").split(" ").length;
            System.out.printf("webhook %s: %d signatures during the rotation%n", both.event().type(), signatures);

            byte[] changed = both.body().clone();
            changed[0] = ' ';
            refused("A forged message", both.header(), changed, secrets, Instant.now());
            refused("A message of an hour ago", both.header(), both.body(), secrets, Instant.now().plus(Duration.ofHours(1)));
        } finally {
            shop.delete("/webhooks/" + hook.id());
            server.stop(0);
        }
    }

    private static void receive(HttpExchange exchange, List<String> secrets, BlockingQueue<Message> received) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            UnaryOperator<String> header = exchange.getRequestHeaders()::getFirst;
            received.add(new Message(Webhooks.verify(header, body, secrets, Instant.now()), header, body));
            exchange.sendResponseHeaders(204, -1);
        } catch (Webhooks.RefusedException e) {
            exchange.sendResponseHeaders(401, -1);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    private static void refused(String what, UnaryOperator<String> header, byte[] body, List<String> secrets, Instant now)
            throws GeneralSecurityException, IOException {
        try {
            Webhooks.verify(header, body, secrets, now);
        } catch (Webhooks.RefusedException e) {
            System.out.printf("%s is refused: %s.%n", what, e.getMessage());
        }
    }
}
