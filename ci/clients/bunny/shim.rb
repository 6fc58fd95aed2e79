# frozen_string_literal: true

# bunny as a shim.
require 'bunny'
require_relative 'contract'
require_relative 'failures'
require_relative 'messages'
require_relative 'opening'
require_relative 'values'

class BunnyShim < Contract::Shim
  include Opening
  include Messages
  include Failures

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

  def do_wait(told)
    called(told['on'])
    @lock.synchronize { @busy = nil } # what ends the connection is an event here
    events(told['on'], told['for'], told['count'] || Float::INFINITY) { @over.key?(told['on']) }
  end
end

BunnyShim.new.serve
