//! A command and the proof that follows it, sent together so that no other caller's command comes between.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, Value};

use crate::store::redis::check::{Role, is_primary};
use crate::store::redis::error::{RedisError, RedisProblem};
use crate::store::redis::options::Wait;

/// A command, and how it is sent.
pub(super) struct Message {
    pub(super) command: Cmd,
    pub(super) purpose: Purpose,
    pub(super) connection: usize,
}

/// The purpose of a command.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// Lists the servers, which a replica can do as well.
    Servers,
    /// Reads a key as the primary has it.
    Reading,
    /// Writes a key, and may wait for replicas before the answer.
    Writing(Option<Wait>),
}

/// A question after a command. The command's answer is valid only with the right answer to this one.
enum Proof {
    None,
    /// A standalone server answers reads even when it is a replica.
    Role,
    Wait(Wait),
}

impl Message {
    /// Sends the command to a server and returns its answer. `asking` is set while the key is migrating there.
    pub(super) async fn exchange(
        &self,
        mut connection: MultiplexedConnection,
        role: Role,
        asking: bool,
    ) -> Result<Value, RedisError> {
        let proof = match (self.purpose, role) {
            (Purpose::Reading, Role::Primary { reports_role: true }) => Proof::Role,
            (Purpose::Writing(Some(wait)), _) => Proof::Wait(wait),
            _ => Proof::None,
        };
        if matches!(proof, Proof::None) && !asking {
            return Ok(connection.send_packed_command(&self.command).await?.extract_error()?);
        }
        let mut pipeline = Pipeline::with_capacity(3);
        if asking {
            pipeline.cmd("ASKING");
        }
        pipeline.add_command(self.command.clone());
        proof.ask(&mut pipeline);
        let (skipped, answers) = (usize::from(asking), pipeline.len() - usize::from(asking));
        let mut answers = connection.send_packed_commands(&pipeline, skipped, answers).await?.into_iter();
        let answer = answers.next().ok_or(RedisProblem::Refused)?.extract_error()?;
        proof.judge(answers.next())?;
        Ok(answer)
    }
}

impl Proof {
    fn ask(&self, pipeline: &mut Pipeline) {
        match self {
            Self::None => {}
            Self::Role => {
                pipeline.cmd("ROLE");
            }
            // `WAIT` covers only the writes of its own connection.
            Self::Wait(wait) => {
                pipeline.cmd("WAIT").arg(wait.replicas).arg(wait.timeout.as_millis().max(1).to_string());
            }
        }
    }

    fn judge(&self, answer: Option<Value>) -> Result<(), RedisError> {
        let answer = answer.unwrap_or(Value::Nil).extract_error()?;
        let (holds, problem) = match self {
            Self::None => return Ok(()),
            Self::Role => (is_primary(answer)?, RedisProblem::Replica),
            Self::Wait(wait) => (redis::from_redis_value::<u32>(answer)? >= wait.replicas, RedisProblem::NotReplicated),
        };
        if holds { Ok(()) } else { Err(problem.into()) }
    }
}
