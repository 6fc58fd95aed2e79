<?php

declare(strict_types=1);

/**
 * What is published, got, returned and settled.
 */

use Contract\Refused;
use PhpAmqpLib\Message\AMQPMessage;

trait Messages
{
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
