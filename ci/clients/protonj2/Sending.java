import com.google.gson.JsonObject;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.qpid.protonj2.client.*;

/** What ProtonJ2's client sends, and what becomes of it. */
abstract class Sending extends Messages {
  /** The library waits for credit before it takes a message: what is handed over waits in a thread of its own. */
  record Handing(Sender sender, boolean settled, ExecutorService turn) {}

  Object send(JsonObject told) throws Exception {
    return sent(told, filled(told));
  }

  Object echo(JsonObject told) throws Exception {
    return sent(told, held(told, "token", Delivery.class).message());
  }

  private Object sent(JsonObject told, Message<?> message) throws Exception {
    String on = text(told, "on", "");
    Handing handing = held(told, "on", Handing.class);
    if (flag(told, "settled", handing.settled) && !handing.settled) {
      throw unsupported("it settles all that a link sends, or nothing");
    }
    String tag = flag(told, "wait", true) ? null : token("");
    Events events = events(on);
    long within = milliseconds(told, "within", 5);
    Queue<Future<Tracker>> handed = new ArrayDeque<>();
    for (int left = number(told, "count", 1); left > 0; left--) {
      handed.add(handing.turn.submit(() -> handing.sender.send(message)));
    }
    if (tag != null && !handing.settled) {
      for (Future<Tracker> each : handed) {
        daemon(() -> {
          String outcome = outcome(each.get(), Integer.MAX_VALUE);
          events.add(map("event", "outcome", "on", on, "tag", tag, "outcome", outcome));
          return outcome;
        });
      }
    }
    String outcome = null;
    while (tag == null && !handed.isEmpty()) {
      Tracker tracker = handed.remove().get();
      outcome = handing.settled ? null : outcome(tracker, within);
    }
    return tag == null ? map("outcome", outcome) : map("tag", tag);
  }

  private static String outcome(Tracker tracker, long within) throws Exception {
    DeliveryState state = tracker.awaitSettlement(within, TimeUnit.MILLISECONDS).remoteState();
    return state == null ? null : state.getType().name().toLowerCase(Locale.ROOT);
  }
}
