<?php

declare(strict_types=1);

/**
 * How connections and channels of php-amqplib are opened and closed.
 */

use Contract\Refused;
use PhpAmqpLib\Connection\AMQPStreamConnection;

trait Opening
{
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
}
