import com.google.gson.JsonObject;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Method;
import java.util.List;
import java.util.Map;

/** Methods, as RabbitMQ's Java client sends them. */
abstract class Methods extends Messages {
  /** Send a method by the builder that the library has for each. */
  Object call(JsonObject told) throws Exception {
    Channel channel = held(told, "on", Channel.class);
    String method = text(told, "method", "");
    JsonObject arguments = object(told, "args");
    if (text(arguments, "queue", "").length() > 255) {
      // refused, as by all of its kind; rpc would leave the channel stuck
      channel.queuePurge(text(arguments, "queue", ""));
    }
    Object builder;
    try {
      String[] words = method.split("\\.");
      builder = Class.forName("com.rabbitmq.client.AMQP$" + capital(words[0]) + "$" + capital(camel(words[1]))
          + "$Builder")
          .getConstructor().newInstance();
    } catch (ClassNotFoundException failure) {
      throw unsupported("no method " + method);
    }
    set(builder, arguments, Map.of("no-wait", "nowait"));
    Method made = (Method) invoke(builder.getClass().getMethod("build"), builder);
    if (method.equals("basic.recover-async") || flag(arguments, "no-wait", false)) {
      channel.asyncRpc(made); // sends it, and waits for nothing
      return map("reply", map());
    }
    Method answer = channel.rpc(made).getMethod();
    Class<?> due = Class.forName(made.getClass().getInterfaces()[0].getName() + "Ok");
    due.cast(answer); // as the library's own function for each method does
    return map("reply", fields(answer, due, List.of()));
  }
}
