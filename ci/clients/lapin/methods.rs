//! The methods that lapin has functions for.

use crate::contract::{unsupported, Told};
use crate::opening::Channel;
use crate::values::{short, table};
use crate::Refused;
use lapin::options::*;
use lapin::ExchangeKind;
use serde_json::{json, Value};

pub async fn call(ch: &Channel, method: &str, a: &Told) -> Result<Value, Refused> {
    let text = |name: &str| short(&a.text(name));
    let (nowait, passive, durable) = (a.flag("no-wait"), a.flag("passive"), a.flag("durable"));
    let (auto_delete, exclusive, if_unused) = (
        a.flag("auto-delete"),
        a.flag("exclusive"),
        a.flag("if-unused"),
    );
    let requeue = a.flag("requeue");
    match method {
        "exchange.declare" => {
            a.only("exchange type passive durable auto-delete internal no-wait arguments")?;
            let kind = match a.text("type").as_str() {
                "direct" => ExchangeKind::Direct,
                "fanout" => ExchangeKind::Fanout,
                "headers" => ExchangeKind::Headers,
                "topic" => ExchangeKind::Topic,
                other => ExchangeKind::Custom(other.into()),
            };
            let options = ExchangeDeclareOptions {
                passive,
                durable,
                auto_delete,
                internal: a.flag("internal"),
                nowait,
            };
            ch.of
                .exchange_declare(
                    text("exchange")?,
                    kind,
                    options,
                    table(a.given("arguments"))?,
                )
                .await?;
        }
        "exchange.delete" => {
            a.only("exchange if-unused no-wait")?;
            ch.of
                .exchange_delete(
                    text("exchange")?,
                    ExchangeDeleteOptions { if_unused, nowait },
                )
                .await?;
        }
        "queue.declare" => {
            a.only("queue passive durable exclusive auto-delete no-wait arguments")?;
            let options = QueueDeclareOptions {
                passive,
                durable,
                exclusive,
                auto_delete,
                nowait,
            };
            let found = ch
                .of
                .queue_declare(text("queue")?, options, table(a.given("arguments"))?)
                .await?;
            return Ok(
                json!({"queue": found.name().as_str(), "message-count": found.message_count(),
                "consumer-count": found.consumer_count()}),
            );
        }
        "queue.bind" => {
            a.only("queue exchange routing-key no-wait arguments")?;
            let (options, arguments) = (QueueBindOptions { nowait }, table(a.given("arguments"))?);
            ch.of
                .queue_bind(
                    text("queue")?,
                    text("exchange")?,
                    text("routing-key")?,
                    options,
                    arguments,
                )
                .await?;
        }
        "queue.unbind" => {
            a.only("queue exchange routing-key arguments")?;
            let arguments = table(a.given("arguments"))?;
            ch.of
                .queue_unbind(
                    text("queue")?,
                    text("exchange")?,
                    text("routing-key")?,
                    arguments,
                )
                .await?;
        }
        "queue.purge" => {
            a.only("queue no-wait")?;
            let count = ch
                .of
                .queue_purge(text("queue")?, QueuePurgeOptions { nowait })
                .await?;
            return Ok(json!({"message-count": count}));
        }
        "queue.delete" => {
            a.only("queue if-unused if-empty no-wait")?;
            let options = QueueDeleteOptions {
                if_unused,
                if_empty: a.flag("if-empty"),
                nowait,
            };
            return Ok(
                json!({"message-count": ch.of.queue_delete(text("queue")?, options).await?}),
            );
        }
        "basic.qos" => {
            if a.number("prefetch-size")?.unwrap_or(0) != 0 {
                unsupported("the library has no prefetch-size")?;
            }
            let count = a.number("prefetch-count")?.unwrap_or(0);
            let global = a.flag("global");
            ch.of.basic_qos(count, BasicQosOptions { global }).await?;
        }
        "basic.recover" => ch.of.basic_recover(BasicRecoverOptions { requeue }).await?,
        "basic.recover-async" => {
            let options = BasicRecoverAsyncOptions { requeue };
            ch.of.basic_recover_async(options).await?
        }
        "channel.flow" => {
            let active = a.flag("active");
            let active = ch.of.channel_flow(ChannelFlowOptions { active }).await?;
            return Ok(json!({"active": active}));
        }
        "tx.select" => ch.of.tx_select().await?,
        "tx.commit" => ch.of.tx_commit().await?,
        "tx.rollback" => ch.of.tx_rollback().await?,
        other => unsupported(format!("the library has no function for {other}"))?,
    }
    Ok(Value::Null)
}
