<?php

declare(strict_types=1);

/**
 * What crosses between the contract and php-amqplib.
 */

use Contract\Refused;
use PhpAmqpLib\Wire\AMQPAbstractCollection as Fields;
use PhpAmqpLib\Wire\AMQPArray;
use PhpAmqpLib\Wire\AMQPDecimal;
use PhpAmqpLib\Wire\AMQPTable;

const TYPES = [
    'null' => Fields::T_VOID,
    'bool' => Fields::T_BOOL,
    'text' => Fields::T_STRING_LONG,
    'bin' => Fields::T_BYTES,
    'short' => Fields::T_STRING_SHORT,
    'i8' => Fields::T_INT_SHORTSHORT,
    'u8' => Fields::T_INT_SHORTSHORT_U,
    'i16' => Fields::T_INT_SHORT,
    'u16' => Fields::T_INT_SHORT_U,
    'i32' => Fields::T_INT_LONG,
    'u32' => Fields::T_INT_LONG_U,
    'i64' => Fields::T_INT_LONGLONG,
    'u64' => Fields::T_INT_LONGLONG_U,
    'f32' => Fields::T_FLOAT,
    'f64' => Fields::T_DOUBLE,
    'dec' => Fields::T_DECIMAL,
    'time' => Fields::T_TIMESTAMP,
    'list' => Fields::T_ARRAY,
    'map' => Fields::T_TABLE,
];
/** Types that the library knows, reads, and has no way to write. */
const UNWRITTEN = ['f32', 'f64'];

/** @return array{mixed, int|null} a value, and its type where the library is told one */
function field(mixed $value): array
{
    [$name, $held] = Contract\typed($value);
    $type = TYPES[$name] ?? null;
    if ($name === 'number') {
        return [$held, null];
    }
    if ($type === null || in_array($name, UNWRITTEN, true) || !Fields::checkDataTypeIsSupported($type)) {
        throw new Refused('unsupported', "php-amqplib writes no field of type $name");
    }
    return match ($name) {
        'null', 'bool', 'text' => [$held, null],
        'bin' => [hex2bin($held), $type],
        'dec' => [new AMQPDecimal((int)$held[1], (int)$held[0]), $type],
        'list' => [listed($held), $type],
        'map' => [table($held), $type],
        default => [Contract\whole($held), $type],
    };
}

function listed(array $values): AMQPArray
{
    $array = new AMQPArray();
    foreach ($values as $value) {
        $array->push(...field($value));
    }
    return $array;
}

function table(array $pairs): AMQPTable
{
    $table = new AMQPTable();
    foreach ($pairs as [$key, $value]) {
        $table->set($key, ...field($value));
    }
    return $table;
}

/** @return array<string, mixed> */
function properties(array $told): array
{
    $set = [];
    foreach ($told as $name => $value) {
        match ($name) {
            'headers' => $set['application_headers'] = table($value['map']),
            'timestamp' => $set['timestamp'] = Contract\whole($value['time']),
            default => $set[str_replace('-', '_', $name)] = $value,
        };
    }
    return $set;
}

/** @param array<string, mixed> $came */
function toldProperties(array $came): array
{
    $told = [];
    foreach ($came as $name => $value) {
        match ($name) {
            'application_headers' => $told['headers'] = toldField(Fields::T_TABLE, $value),
            'timestamp' => $told['timestamp'] = ['time' => (string)$value],
            default => $told[str_replace('_', '-', $name)] = is_string($value) ? Contract\toldText($value) : $value,
        };
    }
    return $told;
}

function toldField(int $type, mixed $value): mixed
{
    $pairs = [];
    if ($value instanceof AMQPTable || $value instanceof AMQPArray) {
        foreach ($value as $key => [$kind, $under]) {
            $said = toldField($kind, $under);
            $pairs[] = $value instanceof AMQPTable ? [Contract\toldText((string)$key), $said] : $said;
        }
    }
    $name = array_search($type, TYPES, true);
    return match ($name) {
        'null' => null,
        'bool' => (bool)$value,
        'text' => Contract\toldText($value),
        'bin' => ['bin' => bin2hex($value)],
        'dec' => ['dec' => [$value->getE(), (string)$value->getN()]],
        'list', 'map' => [$name => $pairs],
        'f32' => ['f32' => bin2hex(pack('G', $value))],
        'f64' => ['f64' => bin2hex(pack('E', $value))],
        default => [$name => (string)$value],
    };
}
