# frozen_string_literal: true

# bunny as a shim.
require 'bunny'
require 'logger'
require_relative 'contract'
require_relative 'values'

# What the library's session would raise in the thread that made it.
class Errors
  def initialize(&heard)
    @heard = heard
  end

  def raise(failure, *) = @heard.call(failure)
end

class BunnyShim < Contract::Shim
  # Arguments that are no option, in their order and with what stands for those not given; and those that the library
  # has a fixed value for.
  CALLS = {
    'exchange.declare' => [
      { 'exchange' => '', 'type' => 'direct' }, %w[passive durable auto-delete internal arguments]
    ],
    'exchange.delete' => [{ 'exchange' => '' }, %w[if-unused]],
    'queue.declare' => [{ 'queue' => '' }, %w[passive durable exclusive auto-delete arguments]],
    'queue.bind' => [{ 'queue' => '', 'exchange' => '' }, %w[routing-key arguments]],
    'queue.unbind' => [{ 'queue' => '', 'exchange' => '' }, %w[routing-key arguments]],
    'queue.purge' => [{ 'queue' => '' }, []],
    'queue.delete' => [{ 'queue' => '' }, %w[if-unused if-empty]],
    'basic.qos' => [{ 'prefetch-count' => 0, 'global' => false }, nil],
    'basic.recover' => [{ 'requeue' => false }, nil],
    'channel.flow' => [{ 'active' => true }, nil],
    'tx.select' => [{}, nil],
    'tx.commit' => [{}, nil],
    'tx.rollback' => [{}, nil]
  }.freeze
  FIXED = { 'no-wait' => false, 'prefetch-size' => 0 }.freeze

  def initialize
    super
    @connections = 0
    @over = {}
  end

  private

  def do_hello(_told)
    { contract: 1, library: 'bunny', version: Bunny::VERSION, language: 'Ruby', protocol: '0-9-1' }
  end

  def do_connect(told)
    mechanism = told.fetch('mechanism', 'PLAIN')
    unless %w[PLAIN EXTERNAL].include?(mechanism)
      raise Contract::Refused.new('unsupported', "bunny has no mechanism #{mechanism}")
    end

    name = "c#{@connections}"
    @connections += 1
    options = %w[heartbeat frame_max channel_max].to_h { |each| [each.to_sym, told[each]] }.compact
    connection = Bunny.new(
      host: told['host'], port: told['port'], user: told['user'], pass: told['password'], vhost: told['vhost'],
      auth_mechanism: mechanism, automatically_recover: false, recover_from_connection_close: false,
      connection_timeout: told['within'], read_timeout: told['within'], write_timeout: told['within'],
      continuation_timeout: (told['within'] * 1000).to_i, logger: Logger.new($stderr, level: Logger::WARN),
      session_error_handler: Errors.new { |failure| ended(name, failure) }, **options
    )
    @named[name] = connection
    begin
      connection.start
    rescue Exception # rubocop:disable Lint/RescueException
      cut(@named.delete(name))
      raise
    end
    { on: name }
  end

  # The session failed: in a thread of its own, or in a function that was called.
  def ended(name, failure)
    Kernel.raise failure if Thread.current.equal?(@main)
    @lock.synchronize do
      return unless @named.key?(name) && !@over.key?(name)

      why = @over[name] = meaning(failure, name, reading: true)
      happened('closed', name, why.more.merge(text: why.message)) if why.kind == 'closed'
      happened('lost', name) if why.kind == 'lost'
      @changed.broadcast
      @main.raise(failure) if @busy == name
    end
  end

  def do_open(told)
    channel = live(told).create_channel
    name = "#{told['on']}/#{channel.number}"
    @over.delete(name)
    @named[name] = channel
    { on: name }
  end

  def do_call(told)
    channel = live(told)
    needed, options = CALLS.fetch(told['method']) do
      raise Contract::Refused.new('unsupported', "bunny has no function for #{told['method']}")
    end
    given = {}
    args = told['args'].reject { |name, value| FIXED.key?(name) && FIXED[name] == value }
    args.each do |name, value|
      unless needed.key?(name) || options&.include?(name)
        raise Contract::Refused.new('unsupported', "bunny has no way to say #{name} for #{told['method']}")
      end
      given[name.tr('-', '_').to_sym] = name == 'arguments' ? Values.field(value) : value unless needed.key?(name)
    end
    given[:routing_key] ||= '' if options&.include?('routing-key')
    function = told['method'].tr('.', '_')
    answer = channel.public_send(function, *needed.merge(args.slice(*needed.keys)).values, *[given].reject(&:empty?))
    { reply: told_reply(answer) }
  end

  def told_reply(answer)
    fields = answer.instance_variables.to_h do |each|
      [each.to_s.delete('@').tr('_', '-'), answer.instance_variable_get(each)]
    end
    fields.select { |_, value| [String, Integer, TrueClass, FalseClass].include?(value.class) }
  end

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

  def do_wait(told)
    called(told['on'])
    @lock.synchronize { @busy = nil } # what ends the connection is an event here
    events(told['on'], told['for'], told['count'] || Float::INFINITY) { @over.key?(told['on']) }
  end

  # The library closes what is closed without a word.
  def do_close(told)
    what = live(told)
    what.close
    @over[told['on']] = Contract::Refused.new('local', 'it is closed')
    {}
  end

  def do_reset(_told)
    connections = @named.values.grep(Bunny::Session)
    @lock.synchronize { [@named, @events, @over].each(&:clear) }
    connections.each { |connection| cut(connection) }
    {}
  end

  def cut(connection)
    connection.transport.close
  rescue StandardError => e
    warn("cut: #{e.inspect}")
  end

  # What a command is on, unless its end is known.
  def live(told)
    what = called(told['on'])
    over = @over[told['on'][/[^\/]+/]] || @over[told['on']]
    raise over if over

    what
  end

  def told_message(info, properties, body)
    {
      token: token([info, properties, body]), **Contract.told_body(body),
      properties: Values.told_properties(properties),
      redelivered: (info.redelivered if info.respond_to?(:redelivered)) || false,
      exchange: Contract.told_text(info.exchange), key: Contract.told_text(info.routing_key)
    }
  end

  LOST = [IOError, SystemCallError, AMQ::Protocol::EmptyResponseError, Bunny::TCPConnectionFailed,
          Bunny::ConnectionClosedError].freeze

  def meaning(failure, on, reading: false)
    # A time-out in a function of the library's may end in a mistake of its own.
    failure = failure.cause if failure.is_a?(NameError) && failure.cause
    native = failure.class.name
    text = failure.message
    case failure
    when Bunny::ChannelLevelException
      @over[on] = closed('channel', failure.channel_close, native)
    when Bunny::ConnectionLevelException, Bunny::NotAllowedError
      closed('connection', failure.connection_close, native)
    when Bunny::PossibleAuthenticationFailureError
      Contract::Refused.new('closed', text, native, { level: 'connection' })
    when Bunny::ChannelAlreadyClosed
      error = failure.channel.instance_variable_get(:@last_channel_error)
      error ? meaning(error, on) : Contract::Refused.new('local', text, native)
    when Bunny::NetworkFailure
      known = @over[on[/[^\/]+/]]
      return known if known

      # The library's own thread waits for heartbeats, others for an answer or for room.
      kind = 'lost' if LOST.any? { |each| failure.cause.is_a?(each) }
      kind ||= 'timeout' if failure.cause.is_a?(Timeout::Error) && !reading
      Contract::Refused.new(kind || 'local', text, native)
    when Timeout::Error then Contract::Refused.new('timeout', text, native)
    when *LOST then Contract::Refused.new('lost', text, native)
    else
      code = text[/\AUnknown reply code: (\d+)/, 1]
      return Contract::Refused.new('closed', text, native, { level: 'connection', code: code.to_i }) if code

      where = failure.backtrace_locations&.first&.path.to_s
      Contract::Refused.new(where == __FILE__ ? 'internal' : 'local', text, native)
    end
  end

  def closed(level, method, native)
    Contract::Refused.new('closed', method.reply_text, native, { level: level, code: method.reply_code })
  end
end

BunnyShim.new.serve
