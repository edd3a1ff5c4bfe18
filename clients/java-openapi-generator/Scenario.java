import animalstore.ApiClient;
import animalstore.ApiException;
import animalstore.api.*;
import animalstore.model.*;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The scenario of clients/README.md with the client of openapi-generator (java, library native). */
public class Scenario {
  static final long EXACT = 9007199254740993L; // 2^53 + 1, which a double cannot hold

  static final ApiClient client = new ApiClient();

  static {
    client.updateBaseUri(System.getenv("ANIMALSTORE_URL"));
    String key = System.getenv("ANIMALSTORE_KEY");
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    // The client sends the name of a file as JSON; this makes it send the content.
    client.setObjectMapper(
        client.getObjectMapper().registerModule(new SimpleModule().addSerializer(File.class, new ContentOfFile())));
  }

  static class ContentOfFile extends StdSerializer<File> {
    ContentOfFile() {
      super(File.class);
    }

    @Override
    public void serialize(File file, JsonGenerator out, SerializerProvider provider) throws IOException {
      out.writeRawValue(Files.readString(file.toPath()));
    }
  }

  static final PetsApi pets = new PetsApi(client);
  static final CategoriesApi categories = new CategoriesApi(client);
  static final StoreApi store = new StoreApi(client);
  static final KeysApi keys = new KeysApi(client);
  static final WebhooksApi webhooks = new WebhooksApi(client);
  static final FilesApi files = new FilesApi(client);
  static final EventsApi events = new EventsApi(client);

  public static void main(String[] arguments) throws Exception {
    if (System.getenv("LATER") != null) {
      readALaterVersion();
      return;
    }
    List<Pet> made = useAnimals();
    Pet rex = made.get(0);
    Pet other = made.get(1);
    useOrders(rex, other);
    useTheRest(other);
    List<String> types = readEvents(rex);
    Set<String> expected = new TreeSet<>();
    for (EventType type : EventType.values()) {
      expected.add(type.getValue());
    }
    // The feed shows these only to those who name them.
    expected.remove("profile.updated");
    expected.remove("store.updated");
    Set<String> seen = new TreeSet<>(types);
    check(seen.equals(expected), "event types: " + seen + ", expected " + expected);
    System.out.println("passed: animals, pages, conditions, orders, files, errors, and " + types.size() + " events of "
        + seen.size() + " types");
  }

  static void check(boolean ok, Object message) {
    if (!ok) {
      throw new AssertionError(message);
    }
  }

  interface Call {
    void run() throws ApiException;
  }

  static void refused(Call call, int status, String code) throws IOException {
    try {
      call.run();
    } catch (ApiException refusal) {
      animalstore.model.Error error =
          client.getObjectMapper().readValue(refusal.getResponseBody(), animalstore.model.Error.class);
      check(refusal.getCode() == status && error.getStatus() == status && error.getCode().equals(code), error);
      return;
    }
    throw new AssertionError("expected " + status + " " + code);
  }

  static String nextPage(Map<String, List<String>> headers, String parameter) {
    for (String links : headers.getOrDefault("link", List.of())) {
      Matcher link = Pattern.compile("<([^>]+)>; rel=\"next\"").matcher(links);
      if (link.find()) {
        for (String pair : URI.create(link.group(1)).getQuery().split("&")) {
          if (pair.startsWith(parameter + "=")) {
            return pair.substring(parameter.length() + 1);
          }
        }
      }
    }
    return null;
  }

  static List<Pet> useAnimals() throws Exception {
    Category dogs = categories.createCategory(new CategoryInput().name("Dogs"), null);
    check(dogs.getName().equals("Dogs"), dogs);

    Pet rex = pets.createPet(new NewPet().name("Rex").categoryId(EXACT).status(PetStatus.AVAILABLE), null);
    check(rex.getCategoryId() == EXACT, rex);
    var one = PetsApi.APIListPetsRequest.newBuilder().id(List.of(rex.getId())).build();
    check(pets.listPets(one).equals(List.of(rex)), rex);
    var exact = PetsApi.APIListPetsRequest.newBuilder().categoryId(EXACT).build();
    check(pets.listPets(exact).equals(List.of(rex)), rex);

    List<Pet> made = new ArrayList<>(List.of(rex));
    for (int number = 0; number < 4; number++) {
      made.add(pets.createPet(new NewPet().name("Dog " + number).categoryId(dogs.getId()), null));
    }
    List<Pet> seen = new ArrayList<>();
    List<Integer> sizes = new ArrayList<>();
    String cursor = null;
    do {
      var page = pets.listPetsWithHttpInfo(PetsApi.APIListPetsRequest.newBuilder().limit(2).cursor(cursor).build());
      seen.addAll(page.getData());
      sizes.add(page.getData().size());
      cursor = nextPage(page.getHeaders(), "cursor");
    } while (cursor != null);
    check(sizes.equals(List.of(2, 2, 1)), sizes);
    Collections.reverse(seen);
    check(seen.equals(made), seen);

    String etag = pets.listPetsWithHttpInfo(one).getHeaders().get("etag").get(0);
    Pet changed = pets.updatePet(rex.getId(), new PetChange().name("Rexina"), etag);
    check(changed.getName().equals("Rexina") && changed.getCategoryId() == EXACT, changed);
    refused(() -> pets.updatePet(rex.getId(), new PetChange().name("Max"), etag), 412, "precondition_failed");
    return made;
  }

  static void useOrders(Pet rex, Pet other) throws Exception {
    Order first = store.placeOrder(new OrderInput().petId(rex.getId()).reference("basket 4711"), null);
    check(first.getStatus() == OrderStatus.PLACED && first.getHoldExpiresAt() != null, first);
    refused(() -> store.placeOrder(new OrderInput().petId(rex.getId()), null), 409, "pet_not_available");
    Order changed = store.updateOrder(first.getId(), new OrderChange().reference("basket 4712"), null);
    check("basket 4712".equals(changed.getReference()), changed);
    for (OrderStatus status : List.of(OrderStatus.APPROVED, OrderStatus.DELIVERED)) {
      check(store.updateOrder(first.getId(), new OrderChange().status(status), null).getStatus() == status, status);
    }

    pets.updatePet(other.getId(), new PetChange().status(PetStatus.AVAILABLE), null);
    Order second = store.placeOrder(new OrderInput().petId(other.getId()), null);
    store.updateOrder(second.getId(), new OrderChange().status(OrderStatus.CANCELLED), null);
    Order third = store.placeOrder(new OrderInput().petId(other.getId()), null);
    OffsetDateTime end = OffsetDateTime.now(ZoneOffset.UTC).plusSeconds(2).truncatedTo(ChronoUnit.MILLIS);
    Order shorter = store.updateOrder(third.getId(), new OrderChange().holdExpiresAt(end), null);
    check(shorter.getHoldExpiresAt().isEqual(end), shorter);
    while (store.getOrder(third.getId(), null).getStatus() != OrderStatus.EXPIRED) {
      Thread.sleep(100);
    }
  }

  static void useTheRest(Pet other) throws Exception {
    pets.deletePet(other.getId(), null);
    check(pets.restorePet(other.getId(), null).getName().equals(other.getName()), other);
    Category cats = categories.createCategory(new CategoryInput().name("Cats"), null);
    categories.putCategory(cats.getId(), new CategoryInput().name("Kittens"), null, null);
    categories.deleteCategory(cats.getId(), null);

    KeyWithSecret key = keys.createKey(new KeyInput().name("website").addScopesItem(Scope.PETS_READ), null);
    KeyWithSecret rotated = keys.rotateKey(key.getId(), null, new Rotation().overlapSeconds(0));
    check(key.getKey() != null && rotated.getKey() != null && !key.getKey().equals(rotated.getKey()), rotated);
    keys.revokeKey(key.getId());

    WebhookWithSecret hook = webhooks.createWebhook(
        new WebhookInput().url(URI.create("https://shop.invalid/hook")).types(List.of(EventType.ORDER_PLACED)), null);
    check(hook.getSecret() != null, hook);
    check(!webhooks.updateWebhook(hook.getId(), new WebhookChange().enabled(false), null).getEnabled(), hook);
    webhooks.deleteWebhook(hook.getId(), null);

    Path csv = Files.createTempFile("animals", ".csv");
    Files.writeString(csv, "name,categoryId,status\r\nBella,7,available\r\nLuna,7,\r\n");
    var upload = FilesApi.APIImportPetsRequest.newBuilder().body(csv.toFile()).build();
    check(files.importPets(upload).getCreated() == 2, "imported");
    List<String> lines = Files.readAllLines(files.exportPetsCsv((String) null).toPath());
    check(lines.get(0).startsWith("id,name,categoryId,status"), lines);
    check(lines.stream().anyMatch(line -> line.contains(",Rexina," + EXACT + ",sold")), lines);
    check(lines.stream().anyMatch(line -> line.contains(",Luna,7,")), lines);

    refused(() -> pets.createPet(new NewPet().name("").categoryId(1L), null), 400, "validation_failed");
    refused(() -> store.getOrder(999L, null), 404, "not_found");
  }

  static List<String> readEvents(Pet rex) throws Exception {
    List<String> types = new ArrayList<>();
    String after = null;
    do {
      var page = events.listEventsWithHttpInfo(EventsApi.APIListEventsRequest.newBuilder().after(after).limit(10).build());
      for (Event event : page.getData()) {
        types.add(checkEvent(event.getActualInstance(), rex));
      }
      after = nextPage(page.getHeaders(), "after");
    } while (after != null);
    return types;
  }

  /** Reads responses with members, codes, scopes and types that the document does not have. */
  static void readALaterVersion() throws Exception {
    Category dogs = categories.createCategory(new CategoryInput().name("Dogs"), null);
    pets.createPet(new NewPet().name("Rex").categoryId(dogs.getId()), null);
    refused(() -> store.getOrder(999L, null), 404, "added_later");
    KeyWithSecret key = keys.createKey(new KeyInput().name("website").addScopesItem(Scope.PETS_READ), null);
    check(key.getScopes().equals(List.of("pets:read", "added:later")), key);
    WebhookWithSecret hook = webhooks.createWebhook(
        new WebhookInput().url(URI.create("https://shop.invalid/hook")).types(List.of(EventType.ORDER_PLACED)), null);
    check(hook.getTypes().equals(new LinkedHashSet<>(List.of("order.placed", "pet.photographed"))), hook);
    List<Event> first = events.listEvents(EventsApi.APIListEventsRequest.newBuilder().build());
    YetUnknownEvent unknown = (YetUnknownEvent) first.get(0).getActualInstance();
    check(unknown.getType().equals("pet.photographed"), unknown);
    check(unknown.getData().getCurrent().toString().contains("Dogs"), unknown);
    check(first.get(1).getActualInstance() instanceof PetEvent, first);
  }

  /** Checks that the event has the generated type of its family, and returns its type. */
  static String checkEvent(Object event, Pet rex) {
    String type;
    String family;
    Object current;
    Object previous;
    if (event instanceof PetEvent) {
      PetEvent change = (PetEvent) event;
      family = "pet.";
      type = change.getType().getValue();
      Pet now = change.getData().getCurrent();
      Pet before = change.getData().getPrevious();
      if (change.getType() == PetEventType.PET_CREATED && change.getSubject().equals("pets/" + rex.getId())) {
        check(now.getName().equals("Rex") && now.getCategoryId() == EXACT && before == null, change);
      }
      current = now;
      previous = before;
    } else if (event instanceof OrderEvent) {
      OrderEvent change = (OrderEvent) event;
      family = "order.";
      type = change.getType().getValue();
      Order now = change.getData().getCurrent();
      check(change.getSubject().equals("store/orders/" + now.getId()), change);
      current = now;
      previous = change.getData().getPrevious();
    } else if (event instanceof CategoryEvent) {
      CategoryEvent change = (CategoryEvent) event;
      family = "category.";
      type = change.getType().getValue();
      current = change.getData().getCurrent();
      previous = change.getData().getPrevious();
    } else if (event instanceof KeyEvent) {
      KeyEvent change = (KeyEvent) event;
      family = "key.";
      type = change.getType().getValue();
      current = change.getData().getCurrent();
      previous = change.getData().getPrevious();
    } else if (event instanceof WebhookEvent) {
      WebhookEvent change = (WebhookEvent) event;
      family = "webhook.";
      type = change.getType().getValue();
      current = change.getData().getCurrent();
      previous = change.getData().getPrevious();
    } else {
      throw new AssertionError(event);
    }
    check(type.startsWith(family) && (current != null || previous != null), event);
    return type;
  }
}
