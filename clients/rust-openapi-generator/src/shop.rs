//! What the generated client lacks: the headers of responses, and the media type of imports.

use animalstore_client::apis::configuration::Configuration;
use animalstore_client::apis::{Error, ResponseContent};
use animalstore_client::models;
use async_trait::async_trait;
use http::{header, Extensions, HeaderMap, HeaderValue};
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::env;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

pub struct Shop {
    pub api: Configuration,
    headers: Headers,
}

/// Keeps the headers of the last response, because the generated functions return only bodies.
#[derive(Clone, Default)]
struct Headers(Arc<Mutex<HeaderMap>>);

#[async_trait]
impl Middleware for Headers {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        if request.url().path().ends_with("/imports") {
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv"));
        }
        let response = next.run(request, extensions).await?;
        *self.0.lock().unwrap() = response.headers().clone();
        Ok(response)
    }
}

impl Shop {
    pub fn new() -> Shop {
        let headers = Headers::default();
        let api = Configuration {
            base_path: env::var("ANIMALSTORE_URL").unwrap(),
            bearer_access_token: Some(env::var("ANIMALSTORE_KEY").unwrap()),
            client: ClientBuilder::new(reqwest::Client::new()).with(headers.clone()).build(),
            ..Default::default()
        };
        Shop { api, headers }
    }

    /// Returns a header of the last response.
    pub fn header(&self, name: &str) -> Option<String> {
        let headers = self.headers.0.lock().unwrap();
        headers.get(name).map(|value| value.to_str().unwrap().to_string())
    }

    /// Returns the position of the page that follows the last response, from its `Link` header.
    pub fn next_page(&self, parameter: &str) -> Option<String> {
        let links = self.header("Link")?;
        let next = links.split(", ").find_map(|link| link.strip_suffix("; rel=\"next\""))?;
        let url = url::Url::parse(next.trim_start_matches('<').trim_end_matches('>')).unwrap();
        let position = url.query_pairs().find(|(name, _)| name == parameter);
        position.map(|(_, value)| value.into_owned())
    }
}

/// Expects a refusal with this status and code.
pub fn refused<T: Debug, E: Debug>(result: Result<T, Error<E>>, status: u16, code: &str) {
    match result {
        Err(Error::ResponseError(ResponseContent { status: got, content, .. })) => {
            let error: models::Error = serde_json::from_str(&content).unwrap();
            assert_eq!((got.as_u16(), error.status, error.code.as_str()), (status, status.into(), code), "{content}");
        }
        other => panic!("expected {status} {code}, got {other:?}"),
    }
}
