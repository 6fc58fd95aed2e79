<?php

declare(strict_types=1);

/**
 * What php-amqplib's exceptions mean.
 */

use Contract\Refused;
use PhpAmqpLib\Exception as Failure;

trait Failures
{
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
}
