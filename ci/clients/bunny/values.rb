# frozen_string_literal: true

# What crosses between the contract and bunny, whose fields are Ruby's own types: of integers it has one.
require 'bigdecimal'

module Values
  module_function

  def field(value)
    name, held = Contract.typed(value)
    case name
    when 'null', 'bool', 'text', 'number' then held
    when 'i64' then Integer(held)
    when 'f32' then AMQ::Protocol::Float32Bit.new([held].pack('H*').unpack1('g'))
    when 'f64' then [held].pack('H*').unpack1('G')
    when 'bin' then [held].pack('H*')
    when 'time' then Time.at(Integer(held))
    when 'dec' then BigDecimal("#{held[1]}e-#{held[0]}")
    when 'list' then held.map { |each| field(each) }
    when 'map' then held.to_h { |key, each| [key, field(each)] }
    else raise Contract::Refused.new('unsupported', "bunny writes no field of type #{name}")
    end
  end

  def told_field(value)
    case value
    when nil, true, false then value
    when Integer then { int: value.to_s }
    when Float then { f64: [value].pack('G').unpack1('H*') }
    when Time then { time: value.to_i.to_s }
    when BigDecimal then { dec: [value.scale, (value * 10**value.scale).to_i.to_s] }
    when Array then { list: value.map { |each| told_field(each) } }
    when Hash then { map: value.map { |key, each| [Contract.told_text(key.to_s), told_field(each)] } }
    else Contract.told_text(value.to_s)
    end
  end

  def properties(told)
    told.to_h do |name, value|
      value = field(value) if name == 'headers'
      # It is a Time when it comes, and a number when it goes.
      value = Integer(value['time']) if name == 'timestamp'
      [name.tr('-', '_').to_sym, value]
    end
  end

  def told_properties(came)
    came.to_h.to_h do |name, value|
      plain = value.is_a?(Integer) ? value : told_field(value)
      [name.to_s.tr('_', '-'), plain]
    end
  end
end
