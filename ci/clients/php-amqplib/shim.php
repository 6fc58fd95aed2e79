<?php

declare(strict_types=1);

/**
 * php-amqplib as a shim, by its connection over streams.
 */

use Contract\Refused;
use PhpAmqpLib\Channel\AMQPChannel;
use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Exception as Failure;

require 'contract.php';
require 'PhpAmqpLib/autoload.php';
require __DIR__ . '/values.php';
require __DIR__ . '/failures.php';
require __DIR__ . '/messages.php';
require __DIR__ . '/opening.php';

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
    use Failures;
    use Messages;
    use Opening;

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
}

(new PhpAmqpLibShim())->serve();
