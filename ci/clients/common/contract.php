<?php

declare(strict_types=1);

/**
 * What client shims in PHP share: lines of JSON in and out, refusals, values, names, events. See ci/clients/README.md.
 */

namespace Contract;

/** What a command was not carried out for; $more is what else there is to tell. */
final class Refused extends \Exception
{
    /** @param array<string, mixed> $more */
    public function __construct(
        public readonly string $kind,
        string $text,
        public readonly string $native = '',
        public readonly array $more = []
    ) {
        parent::__construct($text);
    }
}

/** The command took too long, and the library did not say so; an error, since libraries catch exceptions. */
final class GaveUp extends \Error
{
}

/** A shim: each method whose name begins with "do" is a command. */
abstract class Shim
{
    /** @var array<string, mixed> what connections, channels and messages are called */
    protected array $named = [];

    /** @var list<array<string, mixed>> */
    private array $events = [];

    private int $tokens = 0;

    /** Say what an exception of the library's means. */
    abstract protected function meaning(\Throwable $failure, string $on): Refused;

    /** Answer stdin line by line up to its end. */
    public function serve(): never
    {
        ini_set('display_errors', 'stderr');
        pcntl_async_signals(true);
        pcntl_signal(SIGALRM, static fn () => throw new GaveUp('no answer came in time'), false);
        while (($line = fgets(STDIN)) !== false) {
            $told = json_decode($line, true);
            $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE;
            $said = json_encode(['id' => $told['id']] + $this->answer($told), $flags);
            // What is too deep for JSON is no fault of the library.
            $cannot = ['kind' => 'internal', 'native' => 'json_encode', 'text' => json_last_error_msg()];
            fwrite(STDOUT, ($said ?: json_encode(['id' => $told['id'], 'error' => $cannot])) . "\n");
        }
        exit(0);
    }

    /**
     * @param array<string, mixed> $told
     * @return array<string, mixed>
     */
    private function answer(array $told): array
    {
        $command = 'do' . ucfirst($told['do']);
        $on = $told['on'] ?? '';
        try {
            if (!method_exists($this, $command)) {
                throw new Refused('unknown', $told['do']);
            }
            // What the library waits for without a time-out of its own ends by an alarm, which knows whole seconds.
            pcntl_alarm((int)ceil(($told['within'] ?? 5) + ($told['for'] ?? 0)) + 1);
            return ['ok' => (object)$this->$command($told)];
        } catch (\Throwable $failure) {
            pcntl_alarm(0);
            $why = match (true) {
                $failure instanceof Refused => $failure,
                $failure instanceof GaveUp => new Refused('timeout', $failure->getMessage()),
                default => $this->meaning($failure, $on),
            };
            $said = ['kind' => $why->kind, 'native' => $why->native, 'text' => $why->getMessage()];
            return ['error' => $said + $why->more];
        } finally {
            pcntl_alarm(0);
        }
    }

    protected function called(string $name): mixed
    {
        return $this->named[$name] ?? throw new Refused('internal', "nothing is called $name");
    }

    protected function token(mixed $message): string
    {
        $name = 'm' . $this->tokens++;
        $this->named[$name] = $message;
        return $name;
    }

    /** @param array<string, mixed> $more */
    protected function happened(string $event, string $on, array $more = []): void
    {
        $this->events[] = ['event' => $event, 'on' => $on] + $more;
    }

    protected function waiting(string $connection): int
    {
        return count(array_filter($this->events, static fn ($event) => self::isOf($event, $connection)));
    }

    /** @return array<string, mixed> */
    protected function events(string $connection): array
    {
        $given = array_filter($this->events, static fn ($event) => self::isOf($event, $connection));
        $this->events = array_values(array_diff_key($this->events, $given));
        return ['events' => array_values($given)];
    }

    protected function forgetAll(): void
    {
        $this->named = $this->events = [];
    }

    /** @param array<string, mixed> $event */
    private static function isOf(array $event, string $connection): bool
    {
        return explode('/', $event['on'])[0] === $connection;
    }
}

/** Give the octets of a body by what `send` was told. */
function body(string|array $told): string
{
    if (is_string($told)) {
        return $told;
    }
    $pattern = implode('', array_map('chr', range(0, 250)));
    return substr(str_repeat($pattern, intdiv($told['fill'], 251) + 1), 0, $told['fill']);
}

/** @return array<string, mixed> */
function toldBody(string $body): array
{
    $told = ['size' => strlen($body), 'crc32' => crc32($body)];
    return strlen($body) <= 1024 && mb_check_encoding($body, 'UTF-8') ? $told + ['text' => $body] : $told;
}

/** @return string|array<string, string> */
function toldText(string $octets): string|array
{
    return mb_check_encoding($octets, 'UTF-8') ? $octets : ['bin' => bin2hex($octets)];
}

/**
 * Give the key of a typed value ("i8", "list", …), or "null", "bool", "text", "number", and what stands under it.
 *
 * @return array{string, mixed}
 */
function typed(mixed $value): array
{
    return match (true) {
        $value === null => ['null', null],
        is_bool($value) => ['bool', $value],
        is_string($value) => ['text', $value],
        is_array($value) => [array_key_first($value), reset($value)],
        default => ['number', $value],
    };
}

/** An integer, or the digits of one that PHP has no integer for. */
function whole(string|int $digits): int|string
{
    return (string)(int)$digits === (string)$digits ? (int)$digits : (string)$digits;
}
