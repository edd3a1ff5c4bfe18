package httpapi

import (
	"animalstore/api"
	"animalstore/internal/shop"
)

func (a *API) getOpenapiJSON(x *exchange) error {
	body := a.document.JSON(a.servers(x))
	x.sendWithETag(revalidateAny, contentTypeJSON, entityTag(body), body)
	return nil
}

func (a *API) getOpenapiYAML(x *exchange) error {
	body := a.document.YAML(a.servers(x))
	x.sendWithETag(revalidateAny, []string{"application/yaml"}, entityTag(body), body)
	return nil
}

// servers returns the servers to list in the OpenAPI document: this server and, if configured, the staging
// deployment.
func (a *API) servers(x *exchange) []api.Server {
	own := api.Server{URL: a.baseURL(x.r), Description: "Production"}
	if a.Service.Environment() == shop.Staging {
		own.Description = "Staging"
	}
	if a.StagingURL == "" || a.StagingURL == own.URL {
		return []api.Server{own}
	}
	return []api.Server{own, {URL: a.StagingURL, Description: "Staging"}}
}
