//! One Chromium for many pages, driven through the DevTools protocol: JSON messages, each ended by a zero byte, over two pipes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A running browser with one open tab.
pub struct Chromium {
    process: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    last_id: u64,
    session: Option<String>,
    /// Events of the tab since the last navigation.
    pub events: Vec<Value>,
}

impl Chromium {
    /// Starts `command` and opens a tab that reports its requests, errors and loads.
    ///
    /// # Errors
    /// If the browser exits, or refuses a command.
    pub fn start(command: &Command) -> Result<Chromium> {
        // Chromium reads file descriptor 3 and writes 4; a shell connects them to the pipes of this test.
        let mut process = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" --remote-debugging-pipe 3<&0 4>&1 </dev/null >/dev/null",
            ])
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let requests = process.stdin.take().context("no pipe")?;
        let replies = BufReader::new(process.stdout.take().context("no pipe")?);
        let (last_id, session, events) = (0, None, Vec::new());
        let mut chromium = Chromium {
            process,
            requests,
            replies,
            last_id,
            session,
            events,
        };
        let tab = chromium.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": tab["targetId"], "flatten": true });
        let attached = chromium.call("Target.attachToTarget", attach)?;
        chromium.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Network", "Runtime", "Log"] {
            chromium.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(chromium)
    }

    /// Sends a command and returns its result.
    ///
    /// # Errors
    /// If the browser exits, or refuses the command.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.requests, "{message}\0")?;
        loop {
            let mut reply = self.receive().context(method.to_owned())?;
            if reply["id"] == self.last_id {
                if !reply["error"].is_null() {
                    bail!("{method}: {}", reply["error"]);
                }
                return Ok(reply["result"].take());
            }
            self.events.push(reply);
        }
    }

    /// Loads a page and waits until its scripts have run.
    ///
    /// # Errors
    /// If the browser exits, or cannot load the page.
    pub fn load(&mut self, address: &str) -> Result<()> {
        self.events.clear();
        let answer = self.call("Page.navigate", json!({ "url": address }))?;
        if let Some(error) = answer["errorText"].as_str() {
            bail!("{address}: {error}");
        }
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let event = self.receive()?;
            self.events.push(event);
        }
        Ok(())
    }

    /// The value of a script, after its promise is kept.
    ///
    /// # Errors
    /// If the browser exits, or the script throws.
    pub fn evaluate(&mut self, script: &str) -> Result<Value> {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", params)?;
        if !answer["exceptionDetails"].is_null() {
            bail!("a script of the test failed: {}", answer["exceptionDetails"]);
        }
        Ok(answer["result"]["value"].take())
    }

    fn receive(&mut self) -> Result<Value> {
        let mut message = Vec::new();
        self.replies.read_until(0, &mut message)?;
        if message.pop() != Some(0) {
            bail!("the browser exited");
        }
        Ok(serde_json::from_slice(&message)?)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
