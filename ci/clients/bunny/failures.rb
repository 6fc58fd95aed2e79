# frozen_string_literal: true

# What bunny's exceptions mean.
module Failures
  LOST = [IOError, SystemCallError, AMQ::Protocol::EmptyResponseError, Bunny::TCPConnectionFailed,
          Bunny::ConnectionClosedError].freeze

  private

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
      Contract::Refused.new(File.dirname(where) == __dir__ ? 'internal' : 'local', text, native)
    end
  end

  def closed(level, method, native)
    Contract::Refused.new('closed', method.reply_text, native, { level: level, code: method.reply_code })
  end
end
