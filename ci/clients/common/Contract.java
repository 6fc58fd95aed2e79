import com.google.gson.*;
import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.TimeoutException;
import java.util.function.IntConsumer;
import java.util.zip.CRC32;

/** What the shims of Java's libraries share; the contract itself stands in ci/clients/README.md. */
abstract class Contract {
  private static final long GRACE = 300; // milliseconds that a library may be later than its own time-out
  private static final int LONGEST_TEXT = 1024;
  private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

  enum Kind {
    CLOSED,
    LOST,
    LOCAL,
    TIMEOUT,
    UNSUPPORTED,
    UNKNOWN,
    INTERNAL
  }

  /** Why a command was not carried out, as it is answered. */
  static final class Refused extends Exception {
    final Kind kind;
    final Map<String, Object> told;

    Refused(Kind kind, String text, Throwable cause, Object... more) {
      super(text, cause);
      this.kind = kind;
      told = map("kind", kind.name().toLowerCase(Locale.ROOT));
      told.put("native", cause == null ? "" : cause.getClass().getName());
      told.put("text", text == null ? "" : text);
      told.putAll(map(more));
    }
  }

  interface Command {
    Object run(JsonObject told) throws Exception;
  }

  /** The events of one connection, oldest first. */
  static final class Events {
    private List<Map<String, Object>> queued = new ArrayList<>();
    private boolean over;

    synchronized void add(Map<String, Object> event) {
      queued.add(event);
      notifyAll();
    }

    /** Say that the connection is over, and nothing more is worth waiting for. */
    synchronized void end() {
      over = true;
      notifyAll();
    }

    synchronized List<Map<String, Object>> take(int count, long nanoseconds) throws InterruptedException {
      long until = System.nanoTime() + nanoseconds;
      for (long left; queued.size() < count && !over && (left = until - System.nanoTime()) > 0; ) {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
      List<Map<String, Object>> taken = queued;
      queued = new ArrayList<>();
      return taken;
    }
  }

  /** What `reset` closes. */
  final List<AutoCloseable> sockets = new CopyOnWriteArrayList<>();

  private final Map<String, Command> commands = new HashMap<>();
  private final Map<String, Object> held = new ConcurrentHashMap<>();
  private final Map<String, Events> events = new ConcurrentHashMap<>();
  private final Map<String, Integer> opened = new HashMap<>();
  private int connections;
  private int tokens;
  private volatile Thread working;

  Contract(String library, String version, String protocol) {
    Map<String, Object> named = map("library", library, "version", version, "language", "Java");
    named.putAll(map("contract", 1, "protocol", protocol));
    commands.put("hello", told -> named);
    commands.put("wait", this::await);
    commands.put("reset", this::reset);
    // All else are the functions of the shim that take what was told.
    for (Class<?> type = getClass(); type != Contract.class; type = type.getSuperclass()) {
      for (Method each : type.getDeclaredMethods()) {
        if (Arrays.equals(each.getParameterTypes(), new Class<?>[] {JsonObject.class})) {
          commands.put(each.getName(), told -> invoke(each, this, told));
        }
      }
    }
  }

  /** Say what the library means by an exception; null where there is more to say of its cause. */
  abstract Refused why(Throwable failure);

  /** Say what an exception means, by those of the library that caused it, or else by what Java means. */
  final Refused whole(Throwable thrown) {
    Refused found = null;
    Throwable failure = thrown instanceof ExecutionException && thrown.getCause() != null ? thrown.getCause() : thrown;
    for (Throwable each = failure; found == null && each != null; each = each.getCause()) {
      found = why(each);
    }
    for (Throwable each = failure; found == null && each != null; each = each.getCause()) {
      if (each instanceof TimeoutException || each instanceof SocketTimeoutException) {
        found = new Refused(Kind.TIMEOUT, each.getMessage(), failure);
      } else if (each instanceof SocketException || each instanceof EOFException
          || each instanceof ClosedChannelException
          || each.getClass().getSimpleName().equals("NativeIoException")) { // Netty's
        found = new Refused(Kind.LOST, each.getMessage(), failure);
      }
    }
    boolean checked = !(failure instanceof RuntimeException || failure instanceof ReflectiveOperationException
        || failure instanceof Error);
    boolean local = checked || failure instanceof IllegalArgumentException || failure instanceof IllegalStateException
        || failure instanceof UnsupportedOperationException;
    return found == null && local ? new Refused(Kind.LOCAL, failure.getMessage(), failure) : found;
  }

  /** Do what each line says, and answer it, up to the end of the lines. */
  final void serve() throws IOException {
    OutputStream answers = new FileOutputStream(FileDescriptor.out);
    System.setOut(System.err); // a library that prints must not answer
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = lines.readLine()) != null; ) {
      JsonObject told = JsonParser.parseString(line).getAsJsonObject();
      Map<String, Object> answer = map("id", told.get("id"));
      try {
        Object done = carryOut(told);
        answer.put("ok", done == null ? Map.of() : done);
      } catch (Refused refused) {
        answer.put("error", refused.told);
      }
      answers.write((GSON.toJson(answer) + "\n").getBytes(StandardCharsets.UTF_8));
    }
    Runtime.getRuntime().halt(0); // threads of the library may hang
  }

  /** Run a command in a thread of its own, which is left behind where it hangs. */
  private Object carryOut(JsonObject told) throws Refused {
    String name = told.get("do").getAsString();
    Command command = commands.get(name);
    if (command == null) {
      throw new Refused(Kind.UNKNOWN, "there is no command " + name, null);
    }
    FutureTask<Object> task = new FutureTask<>(() -> command.run(told));
    working = new Thread(task, name);
    working.setDaemon(true);
    working.start();
    try {
      return task.get(milliseconds(told, "for", 0) + milliseconds(told, "within", 5) + GRACE, TimeUnit.MILLISECONDS);
    } catch (TimeoutException failure) {
      throw new Refused(Kind.TIMEOUT, "the shim gave up waiting for " + name, null);
    } catch (ExecutionException failure) {
      Throwable cause = failure.getCause();
      Refused refused = cause instanceof Refused given ? given : whole(cause);
      if (refused == null) {
        cause.printStackTrace();
        refused = new Refused(Kind.INTERNAL, String.valueOf(cause.getMessage()), cause);
      }
      throw refused;
    } catch (InterruptedException failure) {
      throw new Refused(Kind.INTERNAL, "interrupted", failure);
    }
  }

  private Object await(JsonObject told) throws Exception {
    Events queue = events(told.get("on").getAsString());
    int count = told.has("count") ? told.get("count").getAsInt() : Integer.MAX_VALUE;
    return map("events", queue.take(count, TimeUnit.MILLISECONDS.toNanos(milliseconds(told, "for", 0))));
  }

  private Object reset(JsonObject told) {
    held.clear();
    events.clear();
    for (AutoCloseable socket : sockets) {
      try {
        socket.close();
      } catch (Exception failure) {
        failure.printStackTrace(); // it is gone
      }
    }
    sockets.clear();
    return null;
  }

  /** Give a new connection its name, unless the shim has given up waiting for it. */
  final String keep(Object connection, Events queue) {
    String name = "c" + connections;
    keep(name, connection);
    events.put(name, queue);
    connections++;
    return name;
  }

  /** Hold something under its name, unless the shim has given up waiting for it. */
  final Map<String, Object> keep(String name, Object what) {
    if (Thread.currentThread() != working) {
      throw new IllegalStateException(name + " came too late");
    }
    held.put(name, what);
    return map("on", name);
  }

  /** Hold something under the next name below that of what it belongs to. */
  final String keepBelow(JsonObject told, Object what) {
    String on = text(told, "on", "");
    String name = on + "/" + opened.merge(on, 1, Integer::sum);
    keep(name, what);
    return name;
  }

  /** Give the queue of events of the connection that something belongs to. */
  final Events events(String on) throws Refused {
    Events queue = events.get(on.split("/")[0]);
    if (queue == null) {
      throw new Refused(Kind.INTERNAL, "there is no connection " + on, null);
    }
    return queue;
  }

  /** Give a new token for something that can be settled and echoed. */
  final synchronized String token(Object what) {
    String token = "t" + tokens++;
    held.put(token, what);
    return token;
  }

  /** Hold a message, and tell it with its token. */
  final Map<String, Object> withToken(Object message, Map<String, Object> told) {
    Map<String, Object> made = map("token", token(message));
    made.putAll(told);
    return made;
  }

  /** Give what is held under the name that an argument has. */
  final <T> T held(JsonObject told, String argument, Class<T> type) throws Refused {
    Object what = held.get(text(told, argument, ""));
    if (!type.isInstance(what)) {
      throw new Refused(Kind.INTERNAL, "there is no " + type.getSimpleName() + " " + told.get(argument), null);
    }
    return type.cast(what);
  }

  /** Tell that a connection, or what it holds, was closed or lost. */
  static void over(Events events, String on, Refused why) {
    Map<String, Object> told = map("event", why.kind == Kind.CLOSED ? "closed" : "lost", "on", on);
    if (why.kind == Kind.CLOSED) {
      told.putAll(why.told);
      told.keySet().removeAll(List.of("kind", "native"));
    }
    events.add(told);
  }

  static Refused unsupported(String text) {
    return new Refused(Kind.UNSUPPORTED, text, null);
  }

  static Map<String, Object> map(Object... pairs) {
    Map<String, Object> made = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      made.put((String) pairs[i], pairs[i + 1]);
    }
    return made;
  }

  static String text(JsonObject told, String name, String otherwise) {
    return told.has(name) && !told.get(name).isJsonNull() ? told.get(name).getAsString() : otherwise;
  }

  static boolean flag(JsonObject told, String name, boolean otherwise) {
    return told.has(name) ? told.get(name).getAsBoolean() : otherwise;
  }

  static int number(JsonObject told, String name, int otherwise) {
    return told.has(name) ? told.get(name).getAsInt() : otherwise;
  }

  /** Give an argument in seconds as milliseconds. */
  static long milliseconds(JsonObject told, String name, double otherwise) {
    return Math.round(1000 * (told.has(name) ? told.get(name).getAsDouble() : otherwise));
  }

  /** Give a number to a function, where it was told. */
  static void pass(JsonObject told, String name, IntConsumer where) {
    if (told.has(name)) {
      where.accept(told.get(name).getAsInt());
    }
  }

  static JsonObject object(JsonObject told, String name) {
    return told.has(name) ? told.getAsJsonObject(name) : new JsonObject();
  }

  /** Give the octets of a body by what `send` was told: a text, or how many of a pattern. */
  static byte[] octets(JsonElement told) {
    if (!told.isJsonObject()) {
      return told.getAsString().getBytes(StandardCharsets.UTF_8);
    }
    byte[] made = new byte[told.getAsJsonObject().get("fill").getAsInt()];
    for (int i = 0; i < made.length; i++) {
      made[i] = (byte) (i % 251);
    }
    return made;
  }

  /** Tell octets by size, sum and, where they are a short text, that. */
  static Map<String, Object> summary(byte[] octets) {
    CRC32 sum = new CRC32();
    sum.update(octets);
    Map<String, Object> made = map("size", octets.length, "crc32", sum.getValue());
    String text = octets.length > LONGEST_TEXT ? null : utf8(octets);
    if (text != null) {
      made.put("text", text);
    }
    return made;
  }

  /** Read octets as UTF-8; null where they are none. */
  static String utf8(byte[] octets) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(octets)).toString();
    } catch (CharacterCodingException failure) {
      return null;
    }
  }

  /** Write "auto-delete" as Java does, autoDelete. */
  static String camel(String hyphened) {
    StringBuilder made = new StringBuilder();
    for (String word : hyphened.split("-")) {
      made.append(made.isEmpty() ? word : capital(word));
    }
    return made.toString();
  }

  /** Write autoDelete as the document does, "auto-delete". */
  static String hyphened(String camel) {
    return camel.replaceAll("(?<=[a-z])(?=[A-Z])", "-").toLowerCase(Locale.ROOT);
  }

  static String capital(String word) {
    return word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1);
  }

  /** Call a function, and throw what it throws. */
  static Object invoke(Method function, Object on, Object... arguments) throws Exception {
    try {
      return function.invoke(on, arguments);
    } catch (InvocationTargetException failure) {
      throw failure.getCause() instanceof Exception cause ? cause : failure;
    }
  }

  /** Call for each argument the function of one parameter that is called so, as `names` or Java have it. */
  final void set(Object on, JsonObject arguments, Map<String, String> names) throws Exception {
    for (Map.Entry<String, JsonElement> each : arguments.entrySet()) {
      String name = names.getOrDefault(each.getKey(), camel(each.getKey()));
      Method function = null;
      for (Method one : on.getClass().getMethods()) {
        function = one.getName().equals(name) && one.getParameterCount() == 1 ? one : function;
      }
      if (function == null) {
        throw unsupported("the library has no " + each.getKey());
      }
      invoke(function, on, fitted(value(each.getValue()), function.getParameterTypes()[0]));
    }
  }

  /** Make a value fit where a function takes it as a number of another width. */
  private static Object fitted(Object value, Class<?> type) throws Exception {
    if (value instanceof Date time && type == long.class) {
      return time.getTime();
    } else if (type == byte[].class && !(value instanceof byte[])) {
      return get(value, "asByteArray");
    } else if (value != null && type == String.class) {
      return value.toString();
    } else if (value instanceof Number number && type.isPrimitive()) {
      return type == byte.class ? (Object) number.byteValue() : type == long.class ? (Object) number.longValue()
          : number.intValue();
    }
    return value;
  }

  /** Tell what the getters of a type give; only those of `names`, unless there are none. */
  final Map<String, Object> fields(Object from, Class<?> type, List<String> names) {
    Map<String, Object> made = map();
    for (Method each : type.getDeclaredMethods()) {
      String camel = each.getName().matches("(get|is)[A-Z].*") ? each.getName().replaceFirst("get|is", "") : "";
      String name = hyphened(camel);
      if (!name.isEmpty() && each.getParameterCount() == 0 && (names.isEmpty() || names.contains(name))) {
        try {
          Object value = each.invoke(from);
          if (value != null && came(from, type, camel)) {
            made.put(name, value instanceof Integer ? value : told(value));
          }
        } catch (ReflectiveOperationException failure) {
          throw new IllegalStateException(failure);
        }
      }
    }
    return made;
  }

  /** Say whether a field came, where its type has a function for that. */
  private static boolean came(Object from, Class<?> type, String camel) throws ReflectiveOperationException {
    for (Method each : type.getDeclaredMethods()) {
      if (each.getName().equals("has" + camel) && each.getParameterCount() == 0) {
        return (boolean) each.invoke(from);
      }
    }
    return true;
  }

  /** Make of a value that was told what the library has for it. */
  final Object value(JsonElement told) throws Refused {
    if (told.isJsonObject()) {
      String key = told.getAsJsonObject().keySet().iterator().next();
      return typed(key, told.getAsJsonObject().get(key));
    }
    if (told.isJsonNull()) {
      return null;
    }
    if (told.getAsJsonPrimitive().isBoolean()) {
      return told.getAsBoolean();
    }
    if (told.getAsJsonPrimitive().isString()) {
      return told.getAsString();
    }
    BigDecimal number = told.getAsBigDecimal();
    if (number.scale() > 0) {
      return number.doubleValue();
    }
    long whole = number.longValueExact();
    return whole == (int) whole ? (Object) (int) whole : (Object) whole;
  }

  /** Make a value of a type that 1.0 has and Java has not, with classes that are in a package of the library. */
  final Object amqp(String types, String key, JsonElement told) throws Exception {
    Map<String, String> names = Map.of("u8", "UnsignedByte", "u16", "UnsignedShort", "u32", "UnsignedInteger",
        "u64", "UnsignedLong", "sym", "Symbol", "d32", "Decimal32", "d64", "Decimal64", "d128", "Decimal128",
        "desc", "UnknownDescribedType");
    Class<?> type = names.containsKey(key) ? Class.forName(types + "." + names.get(key)) : null;
    switch (key) {
      case "u8", "u16", "u32", "u64", "sym":
        return invoke(type.getMethod("valueOf", String.class), null, told.getAsString());
      case "d32":
        return type.getConstructor(int.class).newInstance(Integer.parseUnsignedInt(told.getAsString(), 16));
      case "d64":
        return type.getConstructor(long.class).newInstance(Long.parseUnsignedLong(told.getAsString(), 16));
      case "d128":
        BigInteger bits = new BigInteger(told.getAsString(), 16);
        return type.getConstructor(long.class, long.class)
            .newInstance(bits.shiftRight(64).longValue(), bits.longValue());
      case "desc":
        Object descriptor = value(told.getAsJsonArray().get(0));
        return type.getConstructor(Object.class, Object.class)
            .newInstance(descriptor, value(told.getAsJsonArray().get(1)));
      case "time":
        return new Date(told.getAsLong());
      case "char":
        if (told.getAsString().length() > 1) {
          throw unsupported("the library has one char of Java, which " + told + " is not");
        }
        return told.getAsString().charAt(0);
      case "array":
        List<Object> values =
            list(told.getAsJsonArray().get(1).getAsJsonArray(), told.getAsJsonArray().get(0).getAsString());
        if (values.isEmpty() || values.get(0) == null) {
          throw unsupported("what an array of nothing holds cannot be said");
        }
        Object array = java.lang.reflect.Array.newInstance(values.get(0).getClass(), values.size());
        return values.toArray((Object[]) array);
      default:
        throw unsupported("the library has no type for " + key);
    }
  }

  /** Make a typed value: what Java has by itself, all else with the library's own classes. */
  final Object typed(String types, String key, JsonElement told) throws Refused {
    try {
      return List.of("i8", "i16", "i32", "i64", "f32", "f64", "bin", "uuid", "list", "map").contains(key)
          ? common(key, told) : amqp(types, key, told);
    } catch (Refused refused) {
      throw refused;
    } catch (Exception failure) {
      throw new IllegalArgumentException(failure);
    }
  }

  /** Run something beside all commands, whose failure is nobody's. */
  static void daemon(Callable<?> what) {
    Thread thread = new Thread(new FutureTask<>(what));
    thread.setDaemon(true);
    thread.start();
  }

  /** Make a thread that is there while there is something to do, one thing at a time in its order. */
  static ThreadPoolExecutor oneByOne() {
    return new ThreadPoolExecutor(0, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
  }

  private List<Object> list(JsonArray told, String type) throws Refused {
    List<Object> made = new ArrayList<>();
    for (JsonElement each : told) {
      made.add(each.isJsonObject() || List.of("text", "bool").contains(type) ? value(each) : typed(type, each));
    }
    return made;
  }

  /** Make a typed value; libraries with types of their own say so here. */
  Object typed(String key, JsonElement told) throws Refused {
    return common(key, told);
  }

  private Object common(String key, JsonElement told) throws Refused {
    return switch (key) {
      case "i8" -> Byte.valueOf(told.getAsString());
      case "i16" -> Short.valueOf(told.getAsString());
      case "i32" -> Integer.valueOf(told.getAsString());
      case "i64" -> Long.valueOf(told.getAsString());
      case "f32" -> Float.intBitsToFloat(Integer.parseUnsignedInt(told.getAsString(), 16));
      case "f64" -> Double.longBitsToDouble(Long.parseUnsignedLong(told.getAsString(), 16));
      case "dec" -> {
        JsonArray parts = told.getAsJsonArray();
        yield new BigDecimal(new BigInteger(parts.get(1).getAsString()), parts.get(0).getAsInt());
      }
      case "bin" -> HexFormat.of().parseHex(told.getAsString());
      case "uuid" -> UUID.fromString(told.getAsString());
      case "list" -> list(told.getAsJsonArray());
      case "map" -> table(told.getAsJsonArray());
      default -> throw unsupported("the library has no type for " + key);
    };
  }

  final List<Object> list(JsonArray told) throws Refused {
    List<Object> made = new ArrayList<>();
    for (JsonElement each : told) {
      made.add(value(each));
    }
    return made;
  }

  final Map<Object, Object> table(JsonArray told) throws Refused {
    Map<Object, Object> made = new LinkedHashMap<>();
    for (JsonElement each : told) {
      made.put(value(each.getAsJsonArray().get(0)), value(each.getAsJsonArray().get(1)));
    }
    return made;
  }

  /** Tell a value that the library gave; libraries with types of their own say so here. */
  Object told(Object value) {
    if (value == null || value instanceof Boolean || value instanceof String) {
      return value;
    } else if (value instanceof Byte) {
      return map("i8", value.toString());
    } else if (value instanceof Short) {
      return map("i16", value.toString());
    } else if (value instanceof Integer) {
      return map("i32", value.toString());
    } else if (value instanceof Long) {
      return map("i64", value.toString());
    } else if (value instanceof Float number) {
      return map("f32", HexFormat.of().toHexDigits(Float.floatToRawIntBits(number)));
    } else if (value instanceof Double number) {
      return map("f64", HexFormat.of().toHexDigits(Double.doubleToRawLongBits(number)));
    } else if (value instanceof BigDecimal number) {
      return map("dec", List.of(number.scale(), number.unscaledValue().toString()));
    } else if (value instanceof Character) {
      return map("char", value.toString());
    } else if (value instanceof UUID) {
      return map("uuid", value.toString());
    } else if (value instanceof Date time) {
      return map("time", Long.toString(time.getTime()));
    } else if (value instanceof byte[] octets) {
      return map("bin", HexFormat.of().formatHex(octets));
    } else if (value instanceof Map<?, ?> pairs) {
      List<Object> made = new ArrayList<>();
      pairs.forEach((key, each) -> made.add(pair(told(key), told(each))));
      return map("map", made);
    } else if (value instanceof Iterable<?> values) {
      List<Object> made = new ArrayList<>();
      values.forEach(each -> made.add(told(each)));
      return map("list", made);
    }
    return toldByName(value);
  }

  /** Tell what libraries of 1.0 have classes of their own for, by the names of these. */
  private Object toldByName(Object value) {
    String name = value.getClass().getSimpleName();
    try {
      switch (name) {
        case "UnsignedByte", "UnsignedShort", "UnsignedInteger", "UnsignedLong":
          Map<String, String> keys = Map.of("Byte", "u8", "Short", "u16", "Integer", "u32", "Long", "u64");
          return map(keys.get(name.substring(8)), value.toString());
        case "Symbol":
          return map("sym", value.toString());
        case "Binary":
          ByteBuffer octets = (ByteBuffer) get(value, "asByteBuffer");
          byte[] made = new byte[octets.remaining()];
          octets.get(made);
          return map("bin", HexFormat.of().formatHex(made));
        case "Decimal32":
          return map("d32", HexFormat.of().toHexDigits((int) get(value, "getBits")));
        case "Decimal64":
          return map("d64", HexFormat.of().toHexDigits((long) get(value, "getBits")));
        case "Decimal128":
          return map("d128", HexFormat.of().toHexDigits((long) get(value, "getMostSignificantBits"))
              + HexFormat.of().toHexDigits((long) get(value, "getLeastSignificantBits")));
        case "UnknownDescribedType":
          return map("desc", pair(told(get(value, "getDescriptor")), told(get(value, "getDescribed"))));
        default:
          return value.getClass().isArray() ? array(value) : value.toString();
      }
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  private Object array(Object value) {
    List<Object> made = new ArrayList<>();
    String type = "";
    for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
      Object each = told(java.lang.reflect.Array.get(value, i));
      boolean typed = each instanceof Map<?, ?> one && one.size() == 1;
      String plain = each instanceof String ? "text" : "bool";
      type = typed ? ((Map<?, ?>) each).keySet().iterator().next().toString() : plain;
      made.add(typed ? ((Map<?, ?>) each).values().iterator().next() : each);
    }
    return map("array", List.of(type, made));
  }

  private static Object get(Object from, String getter) throws Exception {
    return invoke(from.getClass().getMethod(getter), from);
  }

  /** Give what closes the socket behind the fields of a library, which it shows to nobody. */
  static AutoCloseable behind(Object library, String... path) {
    return () -> {
      Object found = library;
      for (String field : path) {
        found = found == null ? null : hidden(found, field);
      }
      if (found != null) { // else it is closed
        found.getClass().getMethod("close").invoke(found);
      }
    };
  }

  /** Give what a field holds that a library shows to nobody. */
  static Object hidden(Object from, String field) throws ReflectiveOperationException {
    for (Class<?> type = from.getClass(); type != null; type = type.getSuperclass()) {
      for (java.lang.reflect.Field each : type.getDeclaredFields()) {
        if (each.getName().equals(field)) {
          each.setAccessible(true);
          return each.get(from);
        }
      }
    }
    throw new NoSuchFieldException(field);
  }

  private static List<Object> pair(Object key, Object value) {
    List<Object> made = new ArrayList<>(); // List.of takes no null
    made.add(key);
    made.add(value);
    return made;
  }
}
