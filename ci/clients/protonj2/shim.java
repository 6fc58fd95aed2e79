import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.apache.qpid.protonj2.client.*;

/** ProtonJ2's client behind lines of JSON. */
final class Shim extends Sending {
  private final Set<String> ended = ConcurrentHashMap.newKeySet(); // by ourselves

  public static void main(String[] arguments) throws IOException {
    new Shim().serve();
  }

  Object connect(JsonObject told) throws Exception {
    if (told.has("heartbeat")) {
      throw unsupported("1.0 has no heartbeat; idle is what it has");
    }
    long within = milliseconds(told, "within", 5);
    Events events = new Events();
    String[] name = {""};
    ConnectionOptions options =
        new ConnectionOptions().user(text(told, "user", null)).password(text(told, "password", null))
        .openTimeout(within).closeTimeout(within).requestTimeout(within).sendTimeout(within).drainTimeout(within);
    options.transportOptions().connectTimeout((int) within);
    options.disconnectedHandler((connection, event) -> {
      if (!ended.contains(name[0])) {
        over(events, name[0], whole(event.failureCause()));
      }
      events.end();
    });
    pass(told, "frame_max", options::maxFrameSize);
    pass(told, "channel_max", options::channelMax);
    pass(told, "idle", options::idleTimeout);
    if (told.has("hostname")) {
      options.virtualHost(text(told, "hostname", ""));
    }
    if (told.has("mechanism")) {
      options.saslOptions().addAllowedMechanism(text(told, "mechanism", ""));
    }
    ClientOptions container = told.has("container") ? new ClientOptions().id(text(told, "container", ""))
        : new ClientOptions();
    Connection connection = Client.create(container).connect(text(told, "host", ""), number(told, "port", 0), options);
    sockets.add(behind(connection, "transport", "channel"));
    connection.openFuture().get();
    name[0] = keep(connection, events);
    return map("on", name[0]);
  }

  Object open(JsonObject told) throws Exception {
    Session session = held(told, "on", Connection.class).openSession();
    session.openFuture().get();
    return map("on", keepBelow(told, session));
  }

  Object attach(JsonObject told) throws Exception {
    Session session = held(told, "on", Session.class);
    String modes = text(told, "snd", "unsettled") + text(told, "rcv", "first");
    if (!List.of("unsettledfirst", "settledfirst").contains(modes)) {
      throw unsupported("it settles all or nothing before, and first as a receiver");
    }
    long within = milliseconds(told, "within", 5);
    boolean settled = modes.startsWith("settled");
    DeliveryMode mode = settled ? DeliveryMode.AT_MOST_ONCE : DeliveryMode.AT_LEAST_ONCE;
    if (text(told, "role", "").equals("sender")) {
      SenderOptions options = new SenderOptions().deliveryMode(mode).linkName(text(told, "name", null))
          .openTimeout(within).closeTimeout(within).requestTimeout(within).sendTimeout(within);
      Sender sender = session.openSender(text(told, "address", ""), options);
      sender.openFuture().get();
      return map("on", keepBelow(told, new Handing(sender, settled, oneByOne())));
    }
    ReceiverOptions options = new ReceiverOptions().deliveryMode(mode).linkName(text(told, "name", null))
        .openTimeout(within).closeTimeout(within).requestTimeout(within).drainTimeout(within);
    Receiver receiver = session.openReceiver(text(told, "address", ""), options.creditWindow(0).autoAccept(false));
    receiver.openFuture().get();
    String on = keepBelow(told, receiver);
    Events events = events(on);
    daemon(() -> {
      try {
        while (true) {
          Delivery got = receiver.receive();
          if (got != null) {
            events.add(map("event", "message", "on", on, "tag", "", "message", message(got)));
          }
        }
      } catch (Exception failure) {
        Refused why = whole(failure);
        boolean ours = ended.stream().anyMatch(each -> (on + "/").startsWith(each + "/"));
        if (!ours && why.kind == Kind.CLOSED && !"connection".equals(why.told.get("level"))) {
          boolean whole = "session".equals(why.told.get("level")); // told by each link, and of it once
          String where = whole ? on.substring(0, on.lastIndexOf('/')) : on;
          if (!whole || ended.add(where)) {
            over(events, where, why);
          }
        }
        return null;
      }
    });
    if (number(told, "credit", 0) > 0) {
      receiver.addCredit(number(told, "credit", 0));
    }
    return map("on", on);
  }

  Object credit(JsonObject told) throws Exception {
    held(told, "on", Receiver.class).addCredit(number(told, "credit", 0));
    return null;
  }

  Object drain(JsonObject told) throws Exception {
    held(told, "on", Receiver.class).drain().get();
    return null;
  }

  Object settle(JsonObject told) throws Exception {
    Delivery got = held(told, "token", Delivery.class);
    if (flag(told, "multiple", false)) {
      throw unsupported("it settles one by one");
    }
    switch (text(told, "outcome", "")) {
      case "accept" -> got.accept();
      case "reject" -> got.reject("", "");
      case "release" -> got.release();
      default -> got.modified(true, false);
    }
    return null;
  }

  Object detach(JsonObject told) throws Exception {
    link(told).detachAsync().get();
    return null;
  }

  Object close(JsonObject told) throws Exception {
    Object what = held(told, "on", Object.class);
    ended.add(text(told, "on", ""));
    Future<?> closed = what instanceof Connection connection ? connection.closeAsync()
        : what instanceof Session session ? session.closeAsync() : link(told).closeAsync();
    closed.get();
    return null;
  }

  private Link<?> link(JsonObject told) throws Refused {
    return held(told, "on", Object.class) instanceof Handing handing ? handing.sender()
        : held(told, "on", Receiver.class);
  }
}
