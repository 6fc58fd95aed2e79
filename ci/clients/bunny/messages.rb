# frozen_string_literal: true

# What is published, got, returned and settled.
module Messages
  private

  def do_send(told)
    channel = live(told)
    raise Contract::Refused.new('unsupported', 'bunny has no immediate') if told['immediate']

    options = Values.properties(told['properties'] || {})
    if told['mandatory']
      options[:mandatory] = true
      # What comes back is told to the exchange, where the channel knows one.
      exchange = channel.exchange(told['exchange'], no_declare: true)
      exchange.on_return { |info, properties, body| returned(told['on'], info, properties, body) }
    end
    body = Contract.body(told['body'])
    told.fetch('count', 1).times { channel.basic_publish(body.dup, told['exchange'], told['key'], options.dup) }
    {}
  end

  def returned(on, info, properties, body)
    message = told_message(info, properties, body)
    happened('returned', on, { code: info.reply_code, text: Contract.told_text(info.reply_text), message: message })
  end

  def do_echo(told)
    _, properties, body = called(told['token'])
    live(told).basic_publish(body.dup, '', told['key'].to_s, properties.to_h.dup)
    {}
  end

  def do_get(told)
    info, properties, body = live(told).basic_get(told['queue'], manual_ack: !told['settled'])
    { message: info && told_message(info, properties, body) }
  end

  def do_receive(told)
    channel = live(told)
    tag = told['tag'] || channel.generate_consumer_tag
    given = told.key?('arguments') ? Values.field(told['arguments']) : {}
    consumer = Bunny::Consumer.new(channel, told['queue'], tag, told['settled'] || false, false, given)
    consumer.on_delivery do |info, properties, body|
      message = told_message(info, properties, body)
      happened('message', told['on'], { tag: info.consumer_tag, message: message })
    end
    consumer.on_cancellation { |cancel| happened('cancelled', told['on'], { tag: cancel.consumer_tag }) }
    { tag: channel.basic_consume_with(consumer).consumer_tag }
  end

  def do_stop(told)
    live(told).basic_cancel(told['tag'])
    {}
  end

  def do_settle(told)
    channel = live(told)
    tag = called(told['token'])[0].delivery_tag
    if told['outcome'] == 'accept'
      channel.ack(tag, told['multiple'] || false)
    elsif told['multiple'] || told['outcome'] == 'modify'
      raise Contract::Refused.new('unsupported', "AMQP 0-9-1 has no #{told['outcome']} like that")
    else
      channel.reject(tag, told['outcome'] == 'release')
    end
    {}
  end

  def told_message(info, properties, body)
    {
      token: token([info, properties, body]), **Contract.told_body(body),
      properties: Values.told_properties(properties),
      redelivered: (info.redelivered if info.respond_to?(:redelivered)) || false,
      exchange: Contract.told_text(info.exchange), key: Contract.told_text(info.routing_key)
    }
  end
end
