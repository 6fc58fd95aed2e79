<?php

declare(strict_types=1);

/**
 * php-amqplib as a shim, by its connection over streams.
 */

use Contract\Refused;
use PhpAmqpLib\Channel\AMQPChannel;
use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Exception as Failure;
use PhpAmqpLib\Message\AMQPMessage;

require 'contract.php';
require 'PhpAmqpLib/autoload.php';
require __DIR__ . '/values.php';

/** Arguments that the library calls otherwise than the document. */
const NAMES = ['no_wait' => 'nowait', 'global' => 'a_global'];
/** Arguments that the library wants though the document has a zero for them. */
const WANTED = [
    'basic.qos' => ['prefetch_size' => 0, 'prefetch_count' => 0, 'a_global' => false],
    'exchange.declare' => ['type' => 'direct'],
];
/** What is told of what a method gives. */
const REPLIES = [
    'queue.declare' => ['queue', 'message-count', 'consumer-count'],
    'queue.delete' => ['message-count'],
    'queue.purge' => ['message-count'],
    'channel.flow' => ['active'],
];

final class PhpAmqpLibShim extends Contract\Shim
{
    private int $connections = 0;

    /** @var array<string, Refused> what ended connections and channels */
    private array $over = [];

    protected function doHello(): array
    {
        return [
            'contract' => 1,
            'library' => 'php-amqplib',
            'version' => PhpAmqpLib\Package::VERSION,
            'language' => 'PHP',
            'protocol' => '0-9-1',
        ];
    }

    protected function doConnect(array $told): array
    {
        foreach (['frame_max', 'channel_max'] as $name) {
            if (isset($told[$name])) {
                throw new Refused('unsupported', "php-amqplib takes $name from the server");
            }
        }
        $mechanism = $told['mechanism'] ?? 'AMQPLAIN';
        if (!in_array($mechanism, ['PLAIN', 'AMQPLAIN', 'EXTERNAL'], true)) {
            throw new Refused('unsupported', "php-amqplib has no mechanism $mechanism");
        }
        $external = $mechanism === 'EXTERNAL';
        $connection = new AMQPStreamConnection(
            $told['host'],
            $told['port'],
            $external ? '' : $told['user'],
            $external ? '' : $told['password'],
            $told['vhost'],
            login_method: $mechanism,
            login_response: $external ? $told['user'] : null,
            connection_timeout: $told['within'],
            read_write_timeout: $told['within'],
            channel_rpc_timeout: $told['within'],
            heartbeat: $told['heartbeat'] ?? 0 // its default
        );
        $connection->set_close_on_destruct(false);
        $name = 'c' . $this->connections++;
        $this->named[$name] = $connection;
        return ['on' => $name];
    }

    protected function doOpen(array $told): array
    {
        $connection = $this->called($told['on']);
        // The library would connect again.
        if (!$connection->isConnected()) {
            throw $this->over[$told['on']] ?? new Refused('lost', 'it is not connected');
        }
        $channel = $connection->channel();
        $name = "{$told['on']}/{$channel->getChannelId()}";
        unset($this->over[$name]);
        $channel->set_return_listener(function ($code, $text, $exchange, $key, $message) use ($name): void {
            $message->setDeliveryInfo(0, false, $exchange, $key);
            $told = ['code' => $code, 'text' => $text, 'message' => $this->toldMessage($message)];
            $this->happened('returned', $name, $told);
        });
        $this->named[$name] = $channel;
        return ['on' => $name];
    }

    protected function doCall(array $told): array
    {
        $channel = $this->called($told['on']);
        $function = str_replace(['channel.', '.'], ['', '_'], $told['method']);
        if (!method_exists($channel, $function)) {
            throw new Refused('unsupported', "php-amqplib has no function for {$told['method']}");
        }
        $parameters = (new ReflectionMethod($channel, $function))->getParameters();
        $known = array_map(static fn ($each) => $each->name, $parameters);
        $args = WANTED[$told['method']] ?? [];
        foreach ($told['args'] as $name => $value) {
            $name = str_replace('-', '_', $name);
            $name = NAMES[$name] ?? $name;
            if (in_array($name, $known, true)) {
                $args[$name] = $name === 'arguments' ? table($value['map']) : $value;
            } elseif ($name !== 'nowait' || $value) {
                throw new Refused('unsupported', "$function of php-amqplib has no argument $name");
            }
        }
        $given = $channel->$function(...$args);
        $names = REPLIES[$told['method']] ?? [];
        return ['reply' => (object)($given === null ? [] : array_combine($names, (array)$given))];
    }

    protected function doSend(array $told): array
    {
        $channel = $this->called($told['on']);
        $body = Contract\body($told['body']);
        for ($left = $told['count'] ?? 1; $left > 0; $left--) {
            $message = new AMQPMessage($body, properties($told['properties'] ?? []));
            $flags = [$told['mandatory'] ?? false, $told['immediate'] ?? false];
            $channel->basic_publish($message, $told['exchange'], $told['key'], ...$flags);
        }
        return [];
    }

    protected function doEcho(array $told): array
    {
        $channel = $this->called($told['on']);
        $channel->basic_publish($this->called($told['token']), '', $told['key'] ?? '');
        return [];
    }

    protected function doGet(array $told): array
    {
        $message = $this->called($told['on'])->basic_get($told['queue'], $told['settled'] ?? false);
        return ['message' => $message ? $this->toldMessage($message) : null];
    }

    protected function doReceive(array $told): array
    {
        $heard = fn (AMQPMessage $message) => $this->happened(
            'message',
            $told['on'],
            ['tag' => $message->getConsumerTag(), 'message' => $this->toldMessage($message)]
        );
        return ['tag' => $this->called($told['on'])->basic_consume(
            $told['queue'],
            $told['tag'] ?? '',
            no_ack: $told['settled'] ?? false,
            callback: $heard,
            arguments: isset($told['arguments']) ? table($told['arguments']['map']) : []
        )];
    }

    protected function doStop(array $told): array
    {
        $this->called($told['on'])->basic_cancel($told['tag']);
        return [];
    }

    protected function doSettle(array $told): array
    {
        $channel = $this->called($told['on']);
        $tag = $this->called($told['token'])->getDeliveryTag();
        $multiple = $told['multiple'] ?? false;
        if ($told['outcome'] === 'accept') {
            $channel->basic_ack($tag, $multiple);
        } elseif ($multiple || $told['outcome'] === 'modify') {
            throw new Refused('unsupported', "AMQP 0-9-1 has no {$told['outcome']} like that");
        } else {
            $channel->basic_reject($tag, $told['outcome'] === 'release');
        }
        return [];
    }

    /** One channel is waited for up to the end; several are asked in turn: the library waits for one at a time. */
    protected function doWait(array $told): array
    {
        $name = $told['on'];
        $connection = $this->called($name);
        $until = microtime(true) + $told['for'];
        $count = $told['count'] ?? PHP_INT_MAX;
        while ($connection->isConnected() && $this->waiting($name) < $count) {
            $left = max($until - microtime(true), 0.01);
            $channels = $this->channels($name) ?: [$name => $connection];
            foreach ($channels as $on => $channel) {
                $this->listen($on, $channel, count($channels) > 1 ? min($left, 0.02) : $left);
            }
            if (microtime(true) >= $until) {
                break;
            }
        }
        return $this->events($name);
    }

    /** @return array<string, AMQPChannel> */
    private function channels(string $connection): array
    {
        $is = static fn ($what, $name) => str_starts_with($name, "$connection/") && $what->is_open();
        return array_filter($this->named, $is, ARRAY_FILTER_USE_BOTH);
    }

    /** Let a channel take one method; what it throws is what happened. */
    private function listen(string $on, AMQPChannel|AMQPStreamConnection $channel, float $seconds): void
    {
        try {
            $channel->wait(null, false, $seconds);
        } catch (Failure\AMQPTimeoutException) {
            return;
        } catch (Failure\AMQPBasicCancelException $failure) {
            $this->happened('cancelled', $on, ['tag' => $failure->getConsumerTag()]);
        } catch (\Exception $failure) {
            $why = $this->meaning($failure, $on);
            $where = ($why->more['level'] ?? '') === 'channel' ? $on : explode('/', $on)[0];
            if ($why->kind === 'closed') {
                $this->happened('closed', $where, $why->more + ['text' => $why->getMessage()]);
            } elseif ($why->kind === 'lost') {
                $this->happened('lost', $where);
            }
        }
    }

    protected function doClose(array $told): array
    {
        $what = $this->called($told['on']);
        $connection = $this->called(explode('/', $told['on'])[0]);
        // The library closes what is closed without a word.
        $why = $this->ended($told['on']);
        if ($why || !$connection->isConnected()) {
            throw $why ?? new Refused('lost', 'it is not connected');
        }
        $what->close();
        $this->over[$told['on']] = new Refused('local', 'it is closed');
        return [];
    }

    protected function doReset(): array
    {
        foreach ($this->named as $what) {
            if ($what instanceof AMQPStreamConnection) {
                $what->getIO()->close();
            }
        }
        $this->forgetAll();
        $this->over = [];
        return [];
    }

    private function ended(string $on): ?Refused
    {
        return $this->over[explode('/', $on)[0]] ?? $this->over[$on] ?? null;
    }

    protected function meaning(\Throwable $failure, string $on): Refused
    {
        $code = (int)$failure->getCode();
        $text = $failure->getMessage();
        $native = $failure::class;
        $closed = static fn (string $level)
            => new Refused('closed', $text, $native, ['level' => $level, 'code' => $code]);
        $connection = explode('/', $on)[0];
        if ($failure instanceof Failure\AMQPProtocolChannelException) {
            return $this->over[$on] = $closed('channel');
        }
        // Its code is that of the server, or of the system, which has no such numbers.
        if ($native === Failure\AMQPConnectionClosedException::class && $code >= 200) {
            $why = $closed('connection');
            return $on === '' ? $why : $this->over[$connection] = $why;
        }
        $why = $this->ended($on) ?? match (true) {
            $failure instanceof Failure\AMQPHeartbeatMissedException => new Refused('local', $text, $native),
            $failure instanceof Failure\AMQPTimeoutException,
            $failure instanceof Failure\AMQPIOException && $code === SOCKET_ETIMEDOUT
                => new Refused('timeout', $text, $native),
            $failure instanceof Failure\AMQPConnectionClosedException,
            $failure instanceof Failure\AMQPIOException,
            $failure instanceof Failure\AMQPDataReadException,
            $failure instanceof Failure\AMQPSocketException,
            $failure instanceof Failure\AMQPIOWaitException => new Refused('lost', $text, $native),
            // What else comes out of the library is its refusal, mistakes of its own among them.
            str_contains($failure->getFile(), 'PhpAmqpLib'),
            $failure instanceof Failure\AMQPExceptionInterface => new Refused('local', $text, $native),
            default => new Refused('internal', (string)$failure, $native),
        };
        if (($why->kind === 'lost' || $failure instanceof Failure\AMQPHeartbeatMissedException) && $on !== '') {
            $this->over[$connection] ??= $why;
        }
        return $why;
    }

    private function toldMessage(AMQPMessage $message): array
    {
        return ['token' => $this->token($message)] + Contract\toldBody($message->getBody()) + [
            'properties' => (object)toldProperties($message->get_properties()),
            'redelivered' => (bool)$message->isRedelivered(),
            'exchange' => Contract\toldText($message->getExchange()),
            'key' => Contract\toldText($message->getRoutingKey()),
        ];
    }
}

(new PhpAmqpLibShim())->serve();
