# frozen_string_literal: true

# How connections and channels of bunny are opened, and how they end.
require 'logger'

# What the library's session would raise in the thread that made it.
class Errors
  def initialize(&heard)
    @heard = heard
  end

  def raise(failure, *) = @heard.call(failure)
end

module Opening
  private

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
end
