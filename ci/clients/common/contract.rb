# frozen_string_literal: true

# What client shims in Ruby share: lines of JSON in and out, refusals, values, names, events. See ci/clients/README.md.
require 'json'
require 'timeout'
require 'zlib'

module Contract
  # What a command was not carried out for; `more` is what else there is to tell.
  class Refused < StandardError
    attr_reader :kind, :native, :more

    def initialize(kind, text, native = '', more = {})
      super(text)
      @kind = kind
      @native = native
      @more = more
    end
  end

  # The command took too long, and the library did not say so; no StandardError, since libraries rescue these.
  class GaveUp < Exception; end # rubocop:disable Lint/InheritException

  # A shim: each method whose name begins with "do_" is a command. `meaning` says what an exception of the library's
  # means. Threads of the library may tell events at any time.
  class Shim
    def initialize
      @named = {}
      @events = []
      @tokens = 0
      @lock = Monitor.new
      @changed = @lock.new_cond
      @main = Thread.current
      @busy = nil
    end

    # Answer stdin line by line up to its end.
    def serve
      # What other threads raise in this one is heard in the library's functions only.
      Thread.handle_interrupt(Exception => :never) do
        while (line = $stdin.gets)
          told = JSON.parse(line)
          $stdout.puts(said({ id: told['id'] }.merge(answer(told))))
          $stdout.flush
        end
      end
      exit!(0)
    end

    private

    # Give an answer as a line; one that JSON has no way to say is an error of the shim's.
    def said(answer)
      JSON.generate(Contract.legal(answer), max_nesting: 0)
    rescue SystemStackError, JSON::JSONError => e
      JSON.generate({ id: answer[:id], error: { kind: 'internal', native: e.class.name, text: 'it cannot be told' } })
    end

    def answer(told)
      command = "do_#{told['do']}"
      raise Refused.new('unknown', told['do']) unless respond_to?(command, true)

      { ok: busily(told) { send(command, told) } }
    rescue Exception => e # rubocop:disable Lint/RescueException
      { error: explain(e, told['on'].to_s) }
    end

    def busily(told, &block)
      @lock.synchronize { @busy = told['on'].to_s[/[^\/]+/] }
      patience = (told['within'] || 5) * 1.2 + (told['for'] || 0)
      Thread.handle_interrupt(Exception => :immediate) { Timeout.timeout(patience, GaveUp, &block) }
    ensure
      @lock.synchronize { @busy = nil }
      begin
        Thread.handle_interrupt(Exception => :immediate) { Thread.pass }
      rescue Exception => e # rubocop:disable Lint/RescueException
        warn("too late: #{e.inspect}")
      end
    end

    def explain(failure, on)
      why = case failure
            when Refused then failure
            when GaveUp then Refused.new('timeout', 'no answer came in time')
            else meaning(failure, on)
            end
      { kind: why.kind, native: why.native, text: why.message }.merge(why.more)
    end

    def called(name)
      @named.fetch(name) { raise Refused.new('internal', "nothing is called #{name}") }
    end

    def token(message)
      @lock.synchronize do
        name = "m#{@tokens}"
        @tokens += 1
        @named[name] = message
        name
      end
    end

    def happened(event, on, more = {})
      @lock.synchronize do
        @events << { event: event, on: on }.merge(more)
        @changed.broadcast
      end
    end

    def of(connection)
      ->(event) { event[:on][/[^\/]+/] == connection }
    end

    # Wait until so many events are there, the time is over, or what is given says so.
    def events(connection, seconds, count)
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      @lock.synchronize do
        until yield || @events.count(&of(connection)) >= count
          left = till - Process.clock_gettime(Process::CLOCK_MONOTONIC)
          break if left <= 0

          @changed.wait(left)
        end
        given, @events = @events.partition(&of(connection))
        { events: given }
      end
    end
  end

  module_function

  # Give the octets of a body by what `send` was told.
  def body(told)
    return told.b if told.is_a?(String)

    pattern = (0..250).to_a.pack('C*')
    (pattern * (told['fill'] / 251 + 1)).byteslice(0, told['fill'])
  end

  def told_body(octets)
    told = { size: octets.bytesize, crc32: Zlib.crc32(octets) }
    text = octets.dup.force_encoding('UTF-8')
    octets.bytesize <= 1024 && text.valid_encoding? ? told.merge(text: text) : told
  end

  def told_text(octets)
    text = octets.dup.force_encoding('UTF-8')
    text.valid_encoding? ? text : { bin: octets.unpack1('H*') }
  end

  # What JSON can say: strings that are UTF-8, in all of it.
  def legal(value)
    case value
    when String then value.dup.force_encoding('UTF-8').scrub('?')
    when Array then value.map { |each| legal(each) }
    when Hash then value.transform_values { |each| legal(each) }
    else value
    end
  end

  # Give the key of a typed value ("i8", "list", …), or "null", "bool", "text", "number", and what stands under it.
  def typed(value)
    case value
    when nil then ['null', nil]
    when true, false then ['bool', value]
    when String then ['text', value]
    when Hash then value.first
    else ['number', value]
    end
  end
end
